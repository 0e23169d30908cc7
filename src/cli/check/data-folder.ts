import { systemClock } from '../../clock/index.ts';
import { checkLog, type LogCheck, LogError, repairLog } from '../../log/index.ts';
import { messageText, safeJson } from '../printable.ts';
import { type Io, print, printError } from '../verb.ts';

/** `holdfast check --dir`: reads the log of a data folder. Returns the exit code. */
export async function checkDataFolder(
  path: string,
  { json = false, repair = false }: { readonly json?: boolean; readonly repair?: boolean },
  io: Io,
): Promise<number> {
  try {
    if (repair) await runRepair(path, io);
    const checked = checkLog(path);
    print(io, json ? asJson(checked) : describe(checked));
    return checked.recovery.tornAt === undefined ? 0 : NOT_FINE;
  } catch (error) {
    if (!(error instanceof LogError)) throw error;
    if (json) print(io, safeJson({ ok: false, code: error.code, message: error.message }, 2));
    else printError(io, messageText(error.message));
    return NOT_FINE;
  }
}

async function runRepair(path: string, io: Io): Promise<void> {
  const suffix = new Date(systemClock.wallMs()).toISOString().replaceAll(/[:.]/g, '-');
  const { copy, lastFrame, droppedBytes } = await repairLog(path, suffix);
  print(
    io,
    messageText(
      `Copied the files to ${copy}. Kept all up to frame ${lastFrame}, and cut ${droppedBytes} bytes after it.`,
    ),
  );
}

function describe({ path, files, bytes, recovery }: LogCheck): string {
  const { lastFrame, lastWallMs, tornAt, tornBytes, isClean, isForeign } = recovery;
  const until = lastWallMs === 0 ? '' : `, until ${new Date(lastWallMs).toISOString()}`;
  const checksums = isForeign
    ? 'It has commands of Redis, which have no checksums.'
    : 'Every checksum is right.';
  const lines = [
    `${path}: ${files.length} files, ${bytes} bytes, ${lastFrame} frames${until}. ${checksums}`,
  ];
  if (tornAt !== undefined) {
    lines.push(
      `The end is incomplete: ${tornBytes} bytes from byte ${tornAt.offset} of ${tornAt.file} on (${tornAt.reason}). ` +
        'A crash of the machine leaves that. The next start of the server cuts it.',
    );
  } else if (!isClean && !isForeign) lines.push('The server still runs, or was killed.');
  return lines.map(messageText).join('\n');
}

function asJson({ path, files, bytes, recovery }: LogCheck): string {
  const { lastFrame, lastWallMs, tornAt, tornBytes, isClean, isForeign } = recovery;
  return safeJson(
    {
      ok: tornAt === undefined,
      path,
      files,
      bytes,
      frames: lastFrame,
      until: lastWallMs === 0 ? null : new Date(lastWallMs).toISOString(),
      torn: tornAt === undefined ? null : { ...tornAt, bytes: tornBytes },
      endedInOrder: isClean,
      writtenByRedis: isForeign,
    },
    2,
  );
}

const NOT_FINE = 1;
