import type { Command } from '../command.ts';
import { CATEGORIES, type Category, categoriesOf } from '../command-categories.ts';
import { COMMANDS, everyCommand } from '../commands/index.ts';
import { hasSpace, lower } from '../text.ts';
import { LOCK_CATEGORY, lockRight } from './lock-role.ts';
import { RuleError } from './rule-error.ts';

/** The command is allowed. */
const ALLOWED = 1;
/** The command is allowed with scripts of the library. */
const WITH_KNOWN_SCRIPT = 2;

/**
 * The commands that a selector allows: a byte for each command by its number, and the rules that led to it, for ACL
 * LIST. A rule that overrides an earlier one for the same name replaces it, as in Redis 7.2.
 */
export class CommandRights {
  readonly #levels: Uint8Array;
  /** First arguments with which a denied command is allowed: `+select|0`. */
  readonly #firstArguments: Map<number, readonly string[]>;
  #base: '+@all' | '-@all';
  #rules: readonly string[];

  constructor(from?: CommandRights) {
    this.#levels = from ? from.#levels.slice() : new Uint8Array(everyCommand().length);
    this.#firstArguments = new Map(from ? from.#firstArguments : []);
    this.#base = from ? from.#base : '-@all';
    this.#rules = from ? from.#rules : [];
  }

  /** The rules in the form of ACL SETUSER. */
  get text(): string {
    return [this.#base, ...this.#rules].join(' ');
  }

  get ruleCount(): number {
    return this.#rules.length;
  }

  get allowsAll(): boolean {
    return this.#levels.every((level) => (level & ALLOWED) !== 0);
  }

  /** Whether `+@lock` was given. */
  get runsKnownScripts(): boolean {
    return (this.#levels[COMMANDS.get('evalsha')!.number]! & WITH_KNOWN_SCRIPT) !== 0;
  }

  allowsAlways({ number }: Command): boolean {
    return (this.#levels[number]! & ALLOWED) !== 0;
  }

  allows({ number }: Command, argv: readonly string[]): boolean {
    if ((this.#levels[number]! & ALLOWED) !== 0) return true;
    if (this.#firstArguments.size === 0 || argv.length < 2) return false;
    return this.#firstArguments.get(number)?.includes(lower(argv[1]!)) === true;
  }

  allowsWithKnownScript({ number }: Command): boolean {
    return (this.#levels[number]! & WITH_KNOWN_SCRIPT) !== 0;
  }

  /** `+@all` and `-@all`. */
  setAll(isAllowed: boolean): void {
    this.#levels.fill(isAllowed ? ALLOWED : 0);
    this.#firstArguments.clear();
    this.#base = isAllowed ? '+@all' : '-@all';
    this.#rules = [];
  }

  /** `+@read` and `-@read`. */
  setCategory(name: string, isAllowed: boolean): void {
    const folded = lower(name);
    if (folded === LOCK_CATEGORY) this.#setLockCategory(isAllowed);
    else if (isCategory(folded)) this.#setOrdinaryCategory(folded, isAllowed);
    else throw new RuleError('unknown');
    this.#addRule(`@${folded}`, isAllowed);
  }

  /** `+get`, `+config|get`, `+select|0` and the same with a minus. */
  setCommand(text: string, isAllowed: boolean): void {
    const name = lower(text);
    const command = commandNamed(name);
    if (command !== undefined) this.#setWithSubcommands(command, isAllowed);
    else if (isAllowed) this.#allowFirstArgument(name);
    else throw new RuleError('unknown');
    this.#addRule(name, isAllowed);
  }

  /** As in Redis, a container in the category brings all its subcommands. */
  #setOrdinaryCategory(category: Category, isAllowed: boolean): void {
    for (const command of COMMANDS.values()) {
      const members = [command, ...(command.subcommands?.values() ?? [])];
      for (const each of members.filter((member) => categoriesOf(member).includes(category))) {
        this.#setWithSubcommands(each, isAllowed);
      }
    }
  }

  #setLockCategory(isAllowed: boolean): void {
    for (const command of everyCommand()) {
      const right = lockRight(command);
      if (right === undefined) continue;
      if (right === 'always' || !isAllowed) this.#set(command, isAllowed);
      else this.#levels[command.number]! |= WITH_KNOWN_SCRIPT;
    }
  }

  #setWithSubcommands(command: Command, isAllowed: boolean): void {
    this.#set(command, isAllowed);
    for (const each of command.subcommands?.values() ?? []) this.#set(each, isAllowed);
  }

  #set({ number }: Command, isAllowed: boolean): void {
    if (isAllowed) this.#levels[number]! |= ALLOWED;
    else this.#levels[number] = 0;
    this.#firstArguments.delete(number);
  }

  /** The text after the last bar is a first argument, unless the command has subcommands. */
  #allowFirstArgument(name: string): void {
    const bar = name.lastIndexOf('|');
    const command = bar < 0 ? undefined : commandNamed(name.slice(0, bar));
    if (command === undefined) throw new RuleError('unknown');
    if (command.name.includes('|')) throw new RuleError('first-argument-of-subcommand');
    if (bar === name.length - 1 || hasSpace(name)) throw new RuleError('syntax');
    if (command.subcommands !== undefined) throw new RuleError('unknown');
    const { number } = command;
    const earlier = this.#firstArguments.get(number) ?? [];
    const word = name.slice(bar + 1);
    if (!earlier.includes(word)) this.#firstArguments.set(number, [...earlier, word]);
  }

  #addRule(name: string, isAllowed: boolean): void {
    const others = this.#rules.filter((rule) => {
      const earlier = rule.slice(1);
      return earlier !== name && !earlier.startsWith(`${name}|`);
    });
    this.#rules = [...others, `${isAllowed ? '+' : '-'}${name}`];
  }
}

/** Finds a command by a name such as `get` or `client|id`, in lower case. */
function commandNamed(name: string): Command | undefined {
  const [first = '', word, ...more] = name.split('|');
  if (more.length > 0) return undefined;
  const command = COMMANDS.get(first);
  return word === undefined ? command : command?.subcommands?.get(word);
}

/** The categories of Redis, then our own. */
export const CATEGORY_NAMES: readonly string[] = [...CATEGORIES, LOCK_CATEGORY];

function isCategory(name: string): name is Category {
  return (CATEGORIES as readonly string[]).includes(name);
}

/** The names of the commands of a category; undefined if there is no such category. */
export function commandsOfCategory(text: string): string[] | undefined {
  const name = lower(text);
  const isMember = memberTest(name);
  return (
    isMember &&
    everyCommand()
      .filter(isMember)
      .map((command) => command.name)
  );
}

function memberTest(category: string): ((command: Command) => boolean) | undefined {
  if (category === LOCK_CATEGORY) return (command) => lockRight(command) !== undefined;
  if (!isCategory(category)) return undefined;
  return (command) => categoriesOf(command).includes(category);
}
