import { type Stampede, type StampedeRun, stampede } from '../../lab/index.ts';
import {
  happeningText,
  momentText,
  STAMPEDE_COLUMNS,
  stampedeText,
} from '../../lab/report/index.ts';
import { type Io, print, UsageError } from '../verb.ts';
import type { Look } from './diagram.ts';
import { readWords, STAMPEDE_OPTIONS } from './lab-options.ts';
import { lookFor } from './session.ts';
import { widthOf, wrap } from './text-width.ts';

/**
 * `holdfast lab stampede`: the loads of a cache whose entry expires while many clients request it. It is no recipe: one
 * run with hundreds of clients, not a search through the runs of a few.
 */
export async function showStampede(args: readonly string[], io: Io, help: string): Promise<number> {
  const { values } = readWords(STAMPEDE_OPTIONS, [], args);
  if (values.help) return print(io, help);
  const look = lookFor(values, io);
  const found = await stampede({
    ...(values.clients !== undefined && { clients: countOf('clients', values.clients) }),
    ...(values['database-slots'] !== undefined && {
      databaseSlots: countOf('database-slots', values['database-slots']),
    }),
  });
  if (values.json) return print(io, JSON.stringify(found, null, 2));
  const timelines = found.runs.map((run) => timeline(run, look));
  return print(io, [intro(found, look), table(found, look), ...timelines].join('\n\n'));
}

const MAX = 1000;

function countOf(option: string, text: string): number {
  const count = Number(text);
  if (/^\d+$/.test(text) && count >= 1 && count <= MAX) return count;
  throw new UsageError(`--${option} takes a whole number from 1 to ${MAX}, not '${text}'.`);
}

function intro(found: Stampede, { language, width }: Look): string {
  return wrap(stampedeText(found)[language], width).join('\n');
}

function table({ runs }: Stampede, { language, paint }: Look): string {
  const rows = [
    STAMPEDE_COLUMNS.map(({ title }) => title[language]),
    ...runs.map((run) => STAMPEDE_COLUMNS.map(({ cell }) => cell(run)[language])),
  ];
  const widths = STAMPEDE_COLUMNS.map((_, at) => Math.max(...rows.map((row) => widthOf(row[at]!))));
  const lines = rows.map((row) =>
    row
      .map((cell, at) => {
        const gap = ' '.repeat(widths[at]! - widthOf(cell));
        return STAMPEDE_COLUMNS[at]!.isNumber ? gap + cell : cell + gap;
      })
      .join('  ')
      .trimEnd(),
  );
  return [paint('strong', lines[0]!), ...lines.slice(1)].join('\n');
}

function timeline({ about, timeline: entries }: StampedeRun, { language, paint }: Look): string {
  const moments = entries.map(momentText);
  const width = Math.max(...moments.map((text) => text.length));
  const lines = entries.map(
    (entry, at) => `  ${moments[at]!.padStart(width)}  ${happeningText(entry)[language]}`,
  );
  return [paint('strong', about[language]), ...lines].join('\n');
}
