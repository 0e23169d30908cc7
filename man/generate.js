// Writes the manual page from the verbs as they were built: their help texts and tables of options.
//   node man/generate.js            writes man/holdfast.1
//   node man/generate.js --check    fails if that is not what it would write
import { readFileSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { pathToFileURL } from 'node:url';

const root = join(import.meta.dirname, '..');
const file = join(import.meta.dirname, 'holdfast.1');
const build = dirname(process.env.HOLDFAST_BUILD ?? join(root, 'build', 'index.js'));
const load = (path) => import(pathToFileURL(join(build, 'cli', path)).href);

const { VERBS } = await load('dispatch.js');
const { VARIABLES } = await load('man.js');
const { describeOptions } = await load('options.js');
const { version } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8'));

const page = await manual();
if (!process.argv.includes('--check')) writeFileSync(file, page);
else if (readFileSync(file, 'utf8') !== page) {
  console.error('man/holdfast.1 is not up to date. Run: npm run build && node man/generate.js');
  process.exitCode = 1;
}

async function manual() {
  const verbs = [];
  for (const [word, { summary, load }] of VERBS) verbs.push({ word, summary, ...(await load()) });
  return [
    `.TH HOLDFAST 1 "" "holdfast ${version}" "User Commands"`,
    '.SH NAME',
    'holdfast \\- locks for programs on many machines, and the Redis\\-compatible store under them',
    '.SH SYNOPSIS',
    '.B holdfast',
    '.I verb',
    '.RI [ options ]',
    '.SH DESCRIPTION',
    'The first argument is a verb:',
    ...verbs.flatMap(({ word, summary }) => ['.TP', `.B ${roff(word)}`, roff(summary)]),
    ...verbs.flatMap(verbSection),
    ...closing(),
    '',
  ].join('\n');
}

function verbSection({ word, help, options }) {
  const table = describeOptions(options);
  const [, ...paragraphs] = help.split('\n\n');
  const lines = paragraphs.flatMap((paragraph) =>
    paragraph === table ? optionList(options) : block(paragraph),
  );
  // A section begins with a paragraph of its own accord.
  return [`.SH "HOLDFAST ${word.toUpperCase()}"`, ...lines.slice(lines[0] === '.PP' ? 1 : 0)];
}

function optionList(options) {
  return Object.entries(options).flatMap(([name, { short, placeholder, help }]) => {
    const flags = short ? `\\-${short}\\fR, \\fB\\-\\-${roff(name)}` : `\\-\\-${roff(name)}`;
    const value = placeholder ? ` \\fI${roff(placeholder)}\\fR` : '';
    return ['.TP', `\\fB${flags}\\fR${value}`, roff(help)];
  });
}

/** Indented lines stay as they are, under what introduces them; all else is running text. */
function block(paragraph) {
  const lines = paragraph.split('\n');
  const isFixed = lines.slice(1).some((line) => line.startsWith('  ')) || lines[0].startsWith('  ');
  if (!isFixed && !paragraph.startsWith('Usage:')) return ['.PP', ...lines.map(roff)];
  return ['.PP', '.EX', ...lines.map(roff), '.EE'];
}

function closing() {
  return [
    '.SH ENVIRONMENT',
    ...Object.entries(VARIABLES).flatMap(([name, text]) => ['.TP', `.B ${name}`, roff(text)]),
    '.SH "SEE ALSO"',
    '.BR flock (1),',
    '.BR redis\\-cli (1)',
  ];
}

/** Text in which roff sees no orders. */
function roff(text) {
  const plain = text
    .replaceAll('\\', '\\e')
    .replaceAll('-', '\\-')
    .replaceAll('`', '\\(ga')
    .replaceAll("'", '\\(aq')
    .replace(/[^\x00-\x7f]/gu, (char) => `\\[u${hex(char)}]`);
  return plain.startsWith('.') ? `\\&${plain}` : plain;
}

function hex(char) {
  return char.codePointAt(0).toString(16).toUpperCase().padStart(4, '0');
}
