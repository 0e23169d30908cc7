import { accessSync, constants, existsSync, statSync } from 'node:fs';
import { delimiter, join } from 'node:path';
import { RunError } from './exit-codes.ts';

/** The PATH of the system when the variable is missing, as under `env -i`. */
const DEFAULT_PATH = '/bin:/usr/bin';

/** Fails as the start of the command would, before the run waits for the lock. Throws RunError. */
export function checkProgram(command: string, path = DEFAULT_PATH): void {
  const places = command.includes('/')
    ? [command]
    : path.split(delimiter).map((folder) => join(folder === '' ? '.' : folder, command));
  const files = places.filter(isFile);
  if (files.some(isExecutable)) return;
  if (files.length === 0) throw missing(command);
  throw new RunError('notExecutable', `'${files[0]}' cannot be executed: it lacks the permission.`);
}

function missing(command: string): RunError {
  if (!command.includes('/') || !existsSync(command)) {
    return new RunError('notFound', `'${command}' was not found.`);
  }
  return new RunError('notExecutable', `'${command}' cannot be executed: it is no file.`);
}

function isFile(place: string): boolean {
  try {
    return statSync(place).isFile();
  } catch {
    return false;
  }
}

function isExecutable(file: string): boolean {
  try {
    accessSync(file, constants.X_OK);
    return true;
  } catch {
    return false;
  }
}
