// Writes docs/seeds.md and docs/seeds.zh-CN.md from the table of claims as it was built.
//   node scripts/seeds-page.js            writes both
//   node scripts/seeds-page.js --check    fails if one is not what it would write
import { readFileSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { pathToFileURL } from 'node:url';

const root = join(import.meta.dirname, '..');
const build = dirname(process.env.HOLDFAST_BUILD ?? join(root, 'build', 'index.js'));
const {
  CLAIM_REFERENCE,
  CLAIMS,
  CLAIMS_LEAD,
  CLAIMS_TITLE,
  COLUMNS,
  commandOf,
  documentText,
  findingOf,
  QUESTIONS,
  QUESTIONS_TITLE,
  VERDICTS,
} = await import(pathToFileURL(join(build, 'lab', 'report', 'index.js')).href);

const FILES = { en: 'seeds.md', zh: 'seeds.zh-CN.md' };
const COLON = { en: ': ', zh: '：' };
const OTHER = { en: '[中文](seeds.zh-CN.md)', zh: '[English](seeds.md)' };

for (const [language, name] of Object.entries(FILES)) {
  const file = join(root, 'docs', name);
  const text = page(language);
  if (!process.argv.includes('--check')) writeFileSync(file, text);
  else if (readFileSync(file, 'utf8') !== text) {
    console.error(
      `docs/${name} is not up to date. Run: npm run build && node scripts/seeds-page.js`,
    );
    process.exitCode = 1;
  }
}

function page(language) {
  const documents = [...new Set(CLAIMS.map(({ document }) => document))];
  const blocks = [
    `# ${CLAIMS_TITLE[language]}`,
    OTHER[language],
    CLAIMS_LEAD[language],
    counts(language),
    `## ${QUESTIONS_TITLE[language]}`,
    QUESTIONS.map((each) => questionItem(each, language)).join('\n'),
    ...documents.map((document) => section(document, language)),
  ];
  return `${blocks.join('\n\n')}\n`;
}

function counts(language) {
  return Object.entries(VERDICTS)
    .map(([verdict, { sign, text }]) => {
      const count = CLAIMS.filter((claim) => claim.verdict === verdict).length;
      return language === 'en' ? `${sign} ${count} ${text.en}` : `${sign} ${text.zh} ${count} 条`;
    })
    .join(' · ');
}

function questionItem({ question, answer, claims }, language) {
  const links = claims
    .map((number) => `[${number}](#claim-${number})`)
    .join(language === 'en' ? ', ' : '、');
  return language === 'en'
    ? `- **${question.en}** ${answer.en} (${links})`
    : `- **${question.zh}** ${answer.zh}（${links}）`;
}

function section(document, language) {
  const { title, about } = documentText(document);
  const heads = Object.values(COLUMNS).map((head) => head[language]);
  const rows = CLAIMS.filter((claim) => claim.document === document);
  return [
    `## ${title[language]}`,
    '',
    `${about[language]}${language === 'en' ? '.' : '。'}`.replace(/^./, (first) =>
      first.toUpperCase(),
    ),
    '',
    tableLine(heads),
    tableLine(heads.map(() => '---')),
    ...rows.map((claim) => tableLine(cells(claim, language))),
  ].join('\n');
}

function cells({ number, place, claim, verdict, reason, rightForm, evidence }, language) {
  const { sign, text } = VERDICTS[verdict];
  return [
    `<a id="claim-${number}"></a>${number}`,
    `*${place[language]}*<br>${claim[language]}`,
    `${sign} ${text[language]}`,
    withLinks(reason[language]),
    rightForm === null ? '' : withLinks(rightForm[language]),
    evidence.map((each) => evidenceText(each, language)).join('<br>'),
  ];
}

function evidenceText(evidence, language) {
  switch (evidence.kind) {
    case 'dialogue':
      return evidence.lines
        .map(([command, reply]) => `${code(command)} → ${reply.split('\n').map(code).join(' ')}`)
        .join('<br>');
    case 'replay':
    case 'search':
      return `${code(commandOf(evidence))}${COLON[language]}${findingOf(evidence)[language]}`;
    case 'figure':
      return language === 'en'
        ? `${evidence.text.en} (${code(evidence.from)})`
        : `${evidence.text.zh}（${code(evidence.from)}）`;
    case 'test':
      return `${code(evidence.file)}${COLON[language]}“${evidence.title}”`;
  }
}

/** Claims that a text names become links. */
function withLinks(text) {
  return text.replace(CLAIM_REFERENCE, linkNumbers);
}

function linkNumbers(list) {
  return list.replace(/\d+/g, (number) => `[${number}](#claim-${number})`);
}

function code(text) {
  return `\`${text}\``;
}

function tableLine(cellTexts) {
  return `| ${cellTexts.map((text) => text.replaceAll('|', '\\|')).join(' | ')} |`;
}
