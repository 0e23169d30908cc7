import { spawnSync } from 'node:child_process';
import { join } from 'node:path';
import { CliProcess, ROOT } from './cli-process.ts';

/**
 * A program of examples/recipes in PHP or Python, or another command that runs one of them. The
 * arguments are host, port and seconds of the lease.
 */
export function launchRecipe(
  file: string,
  args: readonly (string | number)[],
  command = commandOf(file),
): CliProcess {
  const [program, ...flags] = command;
  // Python would write compiled modules beside the programs.
  const environment = { PYTHONDONTWRITEBYTECODE: '1' };
  return new CliProcess(program!, [...flags, ...args.map(String)], environment);
}

/** What a program prints whose work takes no time. */
export async function outputOfRecipe(
  ...launching: Parameters<typeof launchRecipe>
): Promise<string> {
  await using program = launchRecipe(...launching);
  program.child.stdin!.end();
  await program.ended();
  return program.text;
}

export const RECIPE_FOLDER = join(ROOT, 'examples', 'recipes');

function commandOf(file: string): string[] {
  const path = join(RECIPE_FOLDER, file);
  // The input is a socket here, which PHP by default reads for a minute at most.
  if (file.endsWith('.php')) return ['php', '-d', 'default_socket_timeout=-1', path];
  return [PYTHON ?? 'python3', path];
}

/** Debian's redis-py belongs to Debian's own Python, which need not be the first on the PATH. */
const PYTHON = ['python3', '/usr/bin/python3'].find(
  (program) => spawnSync(program, ['-c', 'import redis']).status === 0,
);
