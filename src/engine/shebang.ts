import { ErrorReply } from '../resp/index.ts';

const FLAGS = ['no-writes', 'allow-oom', 'allow-stale', 'no-cluster', 'allow-cross-slot-keys'];

/** A script's first line may name the engine and flags: `#!lua flags=no-writes`. */
export function parseShebang(source: string): { body: string; readOnly: boolean } {
  if (!source.startsWith('#!')) return { body: source, readOnly: false };
  const end = source.indexOf('\n');
  if (end < 0) throw new ErrorReply('ERR Invalid script shebang');
  const [engine, ...options] = source.slice(2, end).trim().split(/ +/);
  if (engine !== 'lua') {
    throw new ErrorReply(`ERR Unexpected engine in script shebang: #!${engine}`);
  }
  const flags = options.flatMap(parseFlags);
  // The line stays, empty, so that errors name the right line.
  return { body: source.slice(end), readOnly: flags.includes('no-writes') };
}

function parseFlags(option: string): string[] {
  if (!option.startsWith('flags=')) {
    throw new ErrorReply(`ERR Unknown lua shebang option: ${option}`);
  }
  const flags = option.slice('flags='.length).split(',').filter(Boolean);
  for (const flag of flags) {
    if (!FLAGS.includes(flag))
      throw new ErrorReply(`ERR Unexpected flag in script shebang: ${flag}`);
  }
  return flags;
}
