import type { TraceStep } from '../../../src/lab/index.ts';
import type { LineMarks } from '../parts/listing.tsx';
import type { Run } from './messages.ts';

/** The lines after a number of steps. `code` is that of the library, whose steps have no lines of their own. */
export function lineMarks(run: Run, step: number, code: string): LineMarks {
  const lastLines = new Map<number, number>();
  for (const [at, each] of run.trace.slice(0, step).entries()) {
    const line = run.lines[at] ?? libraryLine(each, code);
    if (each.client !== null && line !== null) lastLines.set(run.names.indexOf(each.client), line);
  }
  const now = run.trace[step - 1];
  const client = now?.client == null ? -1 : run.names.indexOf(now.client);
  const isStep = now?.kind === 'step' || now?.kind === 'lose';
  const clients = new Map<number, number[]>();
  for (const [each, line] of [...lastLines].sort(([one], [other]) => one - other)) {
    clients.set(line, [...(clients.get(line) ?? []), each]);
  }
  return { current: isStep ? (lastLines.get(client) ?? null) : null, client, clients };
}

/** Finds the line of the library's pseudo-code by the operation that the step sends. */
function libraryLine({ action, lines }: TraceStep, code: string): number | null {
  const argv = lines?.[0];
  const operation = argv?.[4]?.split(' ')[0];
  const wanted =
    argv !== undefined
      ? `request ${operation}`
      : action === 'message'
        ? 'wait for a message'
        : action.startsWith('write')
          ? 'write with the fence'
          : null;
  if (wanted === null) return null;
  const at = code.split('\n').findIndex((line) => line.includes(wanted));
  return at < 0 ? null : at + 1;
}
