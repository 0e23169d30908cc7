import { existsSync, mkdirSync, writeFileSync } from 'node:fs';
import { dirname, join, resolve } from 'node:path';
import { type Exploration, type Recipe, stampede } from '../../lab/index.ts';
import { galleryPage } from '../../lab/report/index.ts';
import { type Io, print, UsageError, VerbError } from '../verb.ts';
import { version } from '../version.ts';
import { Findings } from './findings.ts';
import { REPORT_OPTIONS, readWords } from './lab-options.ts';
import { ProgressLine } from './progress-line.ts';
import { conclude, EXIT_CODES, lookFor, searchGallery } from './session.ts';

/** `holdfast lab report`: searches the whole gallery and writes it as one web page. */
export async function writeReport(args: readonly string[], io: Io, help: string): Promise<number> {
  const { values } = readWords(REPORT_OPTIONS, [], args);
  if (values.help) return print(io, help);
  if (values.out === undefined) throw new UsageError('Say where to write it: --out <folder>.');
  const look = lookFor(values, io);
  const progress = new ProgressLine(io, look.language);
  // Reports a folder that cannot be written to before the searches, not after.
  const path = prepare(values.out);
  const found = new Map<Recipe, Exploration[]>();
  for (const each of searchGallery(values.only, progress)) {
    found.set(each.recipe, [...(found.get(each.recipe) ?? []), each.found]);
  }
  const entries = [...found].map(([recipe, explorations]) => ({ recipe, explorations }));
  const scene = values.only === undefined ? await stampede() : undefined;
  const page = galleryPage(entries, version(), scene);
  writing(path, () => writeFileSync(path, page));
  const conclusion = conclude([...found.values()].flat());
  print(
    io,
    `${path}: ${Math.ceil(Buffer.byteLength(page) / 1024)} KiB\n${new Findings(look).conclusion(conclusion)}`,
  );
  return EXIT_CODES[conclusion];
}

function prepare(folder: string): string {
  const path = join(resolve(folder), 'index.html');
  writing(path, () => {
    makeFolder(resolve(folder));
    writeFileSync(path, '', { flag: 'a' });
  });
  return path;
}

/** Not mkdir with `recursive`: in /proc, where it gets ENOENT, Node's call never ends. */
function makeFolder(folder: string): void {
  if (existsSync(folder)) return;
  makeFolder(dirname(folder));
  mkdirSync(folder);
}

function writing(path: string, write: () => void): void {
  try {
    write();
  } catch (error) {
    throw new VerbError(`cannot write ${path} (${(error as NodeJS.ErrnoException).code}).`);
  }
}
