// Explores the library at random for a number of minutes, or replays a failure that it found.
//
//   npm run soak:lab -- --minutes 10 [--seed 7]
//   npm run soak:lab -- --replay mutex '5.13.'
import { dirname, join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { parseArgs } from 'node:util';

const built = process.env.HOLDFAST_BUILD ?? join(import.meta.dirname, '../build/index.js');
const { LabError, replayFound, soak } = await import(
  pathToFileURL(join(dirname(built), 'lab/index.js'))
);

try {
  const { values, positionals } = parseArgs({
    allowPositionals: true,
    options: {
      minutes: { type: 'string', default: '1' },
      seed: { type: 'string', default: String(Date.now() % 2 ** 31) },
      replay: { type: 'string' },
      world: { type: 'string', default: '{}' },
    },
  });
  const say = (line) => console.log(line);
  const isSound = values.replay
    ? await replayFound(values.replay, positionals[0] ?? '', readWorld(values.world), say)
    : await soak({ minutes: Number(values.minutes), seed: Number(values.seed), say });
  process.exitCode = isSound ? 0 : 1;
} catch (error) {
  if (!(error instanceof LabError) && !error.code?.startsWith('ERR_PARSE_ARGS')) throw error;
  console.error(error.message);
  process.exitCode = 2;
}

function readWorld(text) {
  try {
    return JSON.parse(text);
  } catch {
    throw new LabError(`--world takes the JSON that soak printed, not ${text}`);
  }
}
