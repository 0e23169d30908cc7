import type { Engine } from '../../engine/index.ts';
import { bytesOf } from '../bytes.ts';
import { nearest } from '../nearest.ts';
import type { Directive } from './config-file.ts';
import { foreignSetting } from './redis-settings.ts';

/** The lines of a configuration file that could not be used, and those without effect. */
export interface ConfigFindings {
  readonly errors: readonly string[];
  readonly notices: readonly string[];
}

/** Sets the first values of settings from the lines of a file that are no options. Applies what it can. */
export function applyDirectives(
  directives: readonly Directive[],
  settings: Engine['settings'],
  optionNames: readonly string[],
): ConfigFindings {
  const errors: string[] = [];
  const notices: string[] = [];
  for (const { line, name, args } of directives) {
    const setting = settings.nameOf(name);
    const foreign = setting === undefined ? foreignSetting(name) : undefined;
    if (foreign?.isHarmless)
      notices.push(`line ${line}: ${name} has no effect here: ${foreign.reason}`);
    else if (foreign !== undefined)
      errors.push(`line ${line}: ${name} cannot be used: ${foreign.reason}`);
    else if (setting === undefined)
      errors.push(`line ${line}: ${unknown(name, [...optionNames, ...settings.names()])}`);
    else
      errors.push(...putErrors(settings, setting, args).map((error) => `line ${line}: ${error}`));
  }
  return { errors, notices };
}

function putErrors(
  settings: Engine['settings'],
  name: Parameters<Engine['settings']['put']>[0],
  args: readonly string[],
): string[] {
  // The only setting of Redis with several values that exists here: pairs of seconds and changes.
  if (args.length > 1 && name !== 'save')
    return [`${name} takes one value; put it into quotes if it has blanks`];
  try {
    settings.put(name, bytesOf(args.join(' ')));
    return [];
  } catch (error) {
    return [(error as Error).message];
  }
}

function unknown(name: string, names: readonly string[]): string {
  const meant = nearest(name, names);
  return `there is no setting '${name}'${meant === undefined ? '' : `; did you mean ${meant}?`}`;
}
