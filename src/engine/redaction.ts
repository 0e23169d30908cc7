import type { Command } from './command.ts';
import { isSecretSetting } from './settings.ts';
import { lower } from './text.ts';

const HIDDEN = '(redacted)';

/** The arguments of a command for MONITOR and SLOWLOG, with passwords redacted. */
export function withoutSecrets(command: Command, argv: readonly string[]): readonly string[] {
  const isSecret = SECRETS[command.name as keyof typeof SECRETS];
  return isSecret ? argv.map((word, at) => (isSecret(argv, at) ? HIDDEN : word)) : argv;
}

type IsSecret = (argv: readonly string[], at: number) => boolean;

/** The secret arguments of commands. */
const SECRETS: Partial<Record<string, IsSecret>> = {
  auth: (_argv, at) => at > 0,
  hello: (argv, at) => isWord(argv[at - 1], 'auth') || isWord(argv[at - 2], 'auth'),
  'acl|setuser': (_argv, at) => at > 1,
  'config|set': (argv, at) => at > 2 && at % 2 === 1 && isSecretSetting(argv[at - 1]!),
};

function isWord(text: string | undefined, word: string): boolean {
  return text !== undefined && lower(text) === word;
}
