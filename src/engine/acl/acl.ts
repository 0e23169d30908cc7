import { ErrorReply } from '../../resp/index.ts';
import type { Command } from '../command.ts';
import { findCommand } from '../commands/index.ts';
import type { Engine } from '../engine.ts';
import type { Session } from '../session.ts';
import { printed } from '../text.ts';
import { type AclContext, AclLog } from './acl-log.ts';
import { parseAcl } from './acl-text.ts';
import { LockRole, type LockRoleOptions } from './lock-role.ts';
import { RuleError } from './rule-error.ts';
import {
  applyRule,
  isUserName,
  joinSelectors,
  MAX_RULES,
  newUserState,
  type RuleDefaults,
  userLine,
} from './rules.ts';
import type { Denial } from './selector.ts';
import { acceptsPassword, User, type UserState } from './user.ts';

/** Reads and replaces the file of ACL LOAD and ACL SAVE. Both throw an Error whose message is the reason. */
export interface AclFile {
  /** The text, with one char for each byte. */
  load(): string;
  /** Replaces the whole file, or leaves it as it was. */
  save(text: string): void;
}

/** The user of connections that have not signed in. */
export const DEFAULT_USER = 'default';

/**
 * The users and their rights. Every request of a user that is restricted passes `denial`: at dispatch, at EXEC, at
 * each `redis.call` and when an exit command runs. A change of rights applies to open connections at once.
 */
export class Acl {
  readonly log = new AclLog();
  readonly role: LockRole;
  readonly defaultUser: User;
  /** Has all rights. No client can sign in as this user, and no rule changes it. */
  readonly internalUser: User;
  /** Set by the server. */
  file: AclFile | undefined;
  readonly #engine: Engine;
  readonly #users = new Map<string, User>();

  constructor(engine: Engine, role: LockRoleOptions | undefined) {
    this.#engine = engine;
    this.role = new LockRole(role);
    this.defaultUser = new User(DEFAULT_USER, openState());
    this.#users.set(DEFAULT_USER, this.defaultUser);
    this.internalUser = new User('(internal)', openState());
  }

  /** The users in the order of their names. */
  get users(): User[] {
    return [...this.#users.values()].sort((one, other) => (one.name < other.name ? -1 : 1));
  }

  /** Whether there is another user than `default`. */
  get hasMoreUsers(): boolean {
    return this.#users.size > 1;
  }

  find(name: string): User | undefined {
    return this.#users.get(name);
  }

  /** The user of this name if the password is right and the user is enabled. */
  verify(name: string, password: string): User | undefined {
    const user = this.#users.get(name);
    return acceptsPassword(user?.state, password) ? user : undefined;
  }

  /** ACL SETUSER: applies all rules, or throws an ErrorReply and applies none. */
  setUser(caller: Session, name: string, args: readonly string[]): void {
    if (!isUserName(name)) throw BAD_NAME;
    if (args.length > MAX_RULES) throw TOO_MANY_RULES;
    const joined = joinSelectors(args);
    if ('openAt' in joined) throw unmatched(args[joined.openAt]!);
    const user = this.#users.get(name);
    const defaults = this.#defaults();
    let state = user?.state ?? newUserState(defaults);
    for (const rule of joined.rules) state = attempt(state, rule, defaults);
    if (user === undefined) this.#users.set(name, new User(name, state));
    else this.#change(caller, user, state);
  }

  /** ACL DELUSER: returns the number of deleted users. Their connections are closed. */
  deleteUsers(caller: Session, names: readonly string[]): number {
    if (names.includes(DEFAULT_USER)) throw NOT_THE_DEFAULT;
    return names.filter((name) => this.#delete(caller, name)).length;
  }

  /** Applies the setting requirepass: the password of `default`. Empty: none is needed. */
  setDefaultPassword(password: string): void {
    const { state } = this.defaultUser;
    const changed = withPassword(state, password);
    if (changed !== state) this.#change(undefined, this.defaultUser, changed);
  }

  /** The users as the lines of an ACL file. */
  lines(): string[] {
    return this.users.map(({ name, state }) => userLine(name, state));
  }

  /** ACL SAVE. */
  save(): void {
    if (this.file === undefined) throw NO_FILE;
    try {
      this.file.save(`${this.lines().join('\n')}\n`);
    } catch (error) {
      this.#engine.log(LOG_WARNING, `cannot write the ACL file: ${(error as Error).message}`);
      throw NOT_SAVED;
    }
  }

  /**
   * ACL LOAD, and the start of a server with an ACL file: replaces all users, or throws an ErrorReply and changes none.
   * Without a line of its own, `default` has all rights and the password of requirepass.
   */
  load(caller?: Session): void {
    if (this.file === undefined) throw NO_FILE;
    const parsed = parseAcl(this.#read(this.file), this.#fileName, this.#defaults());
    if ('errors' in parsed) throw new ErrorReply(`ERR ${parsed.errors}${NOTHING_CHANGED}`);
    for (const name of this.#users.keys()) {
      if (name !== DEFAULT_USER && !parsed.users.has(name)) this.#delete(caller, name);
    }
    for (const [name, state] of parsed.users) {
      const user = this.#users.get(name);
      if (user === undefined) this.#users.set(name, new User(name, state));
      else this.#change(caller, user, state);
    }
    if (parsed.users.has(DEFAULT_USER)) return;
    // In one change: between two, connections without a password would be signed in.
    const state = withPassword(openState(), this.#engine.settings.text('requirepass'));
    this.#change(caller, this.defaultUser, state);
  }

  /** Why the user may not run the command; undefined if it may. */
  denial(
    user: User,
    command: Command,
    argv: readonly string[],
    isInKnownScript = false,
  ): Denial | undefined {
    if (!user.mustCheck(command)) return undefined;
    const request = { command, argv, role: this.role, isInKnownScript };
    let worst: Denial = { reason: 'command', at: 0 };
    for (const selector of user.selectors) {
      const denial = selector.denial(request);
      if (denial === undefined) return undefined;
      if (isWorse(denial, worst)) worst = denial;
    }
    return worst;
  }

  /** Like `denial`, and adds an entry to ACL LOG. `client` is the session of the connection. */
  refusal(
    session: Session,
    command: Command,
    argv: readonly string[],
    context: AclContext,
    client = session,
    isInKnownScript = false,
  ): Denial | undefined {
    const { user } = session;
    const denial = this.denial(user, command, argv, isInKnownScript);
    if (denial === undefined) return undefined;
    const { reason, at } = denial;
    const object = reason === 'command' ? command.name : (argv[at] ?? '');
    this.log.add({ reason, context, object, user: user.name, client });
    return denial;
  }

  /** Whether the user may run this command and read every key. */
  mayReadAllKeys(user: User, argv: readonly string[]): boolean {
    const command = findCommand(argv);
    if (command instanceof ErrorReply) return false;
    const request = { command, argv, role: this.role, isInKnownScript: false };
    return user.selectors.some(
      (selector) => selector.readsAllKeys && selector.denial(request) === undefined,
    );
  }

  /**
   * Which keys a SCAN that runs shows to the user. Without the right to SCAN, the user runs it by a script of the
   * library, and sees the keys of its patterns: a count of the others for any pattern would tell their names.
   */
  scanFilter(user: User, argv: readonly string[]): (key: string) => boolean {
    const isAllowed = this.denial(user, findCommand(SCAN) as Command, argv) === undefined;
    if (isAllowed) return () => true;
    return (key) => user.selectors.some((selector) => selector.hasPatternFor(key));
  }

  /** Ends what the session's user may no longer do. Called when the user or its rights have changed. */
  enforce(session: Session, caller: Session | undefined): void {
    const { user, blockedCommand } = session;
    if (user.isUnrestricted) return;
    if (!this.#mayStay(session)) close(session, caller);
    else if (blockedCommand?.request !== undefined) {
      const { command, argv } = blockedCommand.request;
      const denial = this.refusal(session, command, argv, 'toplevel');
      if (denial !== undefined) blockedCommand.finish(denialReply(command, denial));
    }
  }

  #mayStay(session: Session): boolean {
    const { user, channels, shardChannels, patterns } = session;
    const allows = (name: string, isPattern: boolean): boolean =>
      user.selectors.some((selector) => selector.allowsChannel(name, isPattern, this.role));
    return (
      [...channels, ...shardChannels].every((name) => allows(name, false)) &&
      [...patterns].every((name) => allows(name, true)) &&
      !(session.monitoring && this.denial(user, findCommand(MONITOR) as Command, MONITOR))
    );
  }

  #change(caller: Session | undefined, user: User, state: UserState): void {
    user.replace(state);
    if (user === this.defaultUser) this.#followDefaultUser();
    for (const session of this.#sessionsOf(user)) this.enforce(session, caller);
  }

  /** Without a password for `default`, every connection is signed in. */
  #followDefaultUser(): void {
    const { isEnabled, hasNoPassword } = this.defaultUser.state;
    this.#engine.needsPassword = !(isEnabled && hasNoPassword);
    if (this.#engine.needsPassword) return;
    for (const session of this.#engine.sessions.values()) session.authenticated = true;
  }

  #delete(caller: Session | undefined, name: string): boolean {
    const user = this.#users.get(name);
    if (user === undefined) return false;
    this.#users.delete(name);
    // Exit commands of the user may still run.
    user.replace(newUserState(NO_CHANNELS));
    for (const session of this.#sessionsOf(user)) close(session, caller);
    return true;
  }

  #sessionsOf(user: User): Session[] {
    return [...this.#engine.sessions.values()].filter((session) => session.user === user);
  }

  #defaults(): RuleDefaults {
    return { allChannels: this.#engine.settings.text('acl-pubsub-default') === 'allchannels' };
  }

  get #fileName(): string {
    return this.#engine.settings.text('aclfile');
  }

  #read(file: AclFile): string {
    try {
      return file.load();
    } catch (error) {
      throw new ErrorReply(
        `ERR Error loading ACLs, opening file '${this.#fileName}': ${(error as Error).message}`,
      );
    }
  }
}

/** The reply to a refused request. */
export function denialReply({ name }: Command, { reason }: Denial): ErrorReply {
  if (reason === 'key') return NO_KEY;
  if (reason === 'channel') return NO_CHANNEL;
  return new ErrorReply(`NOPERM this user has no permissions to run the '${name}' command`);
}

/** The state of `default` when the engine starts. Made once: the lab creates engines by the thousand. */
function openState(): UserState {
  allRights ??= applyAll(newUserState(NO_CHANNELS), ['on', 'nopass', '~*', '&*', '+@all']);
  return allRights;
}

let allRights: UserState | undefined;

/** The state with this password; empty: none is needed. */
function withPassword(state: UserState, password: string): UserState {
  if (password !== '') return applyAll(state, ['resetpass', `>${password}`]);
  return state.hasNoPassword ? state : applyAll(state, ['nopass']);
}

/** Applies rules that are known to be right. */
function applyAll(state: UserState, rules: readonly string[]): UserState {
  return rules.reduce((before, rule) => applyRule(before, rule, NO_CHANNELS), state);
}

const NO_CHANNELS: RuleDefaults = { allChannels: false };

function attempt(state: UserState, rule: string, defaults: RuleDefaults): UserState {
  try {
    return applyRule(state, rule, defaults);
  } catch (error) {
    if (!(error instanceof RuleError)) throw error;
    const shown = error.reason === 'long-password' ? rule[0]! : printed(rule);
    throw new ErrorReply(`ERR Error in ACL SETUSER modifier '${shown}': ${error.message}`);
  }
}

/** As in Redis, a key counts more than a command, and a channel more than a key; then the last argument. */
function isWorse(one: Denial, other: Denial): boolean {
  const difference = RANKS[one.reason] - RANKS[other.reason];
  return difference > 0 || (difference === 0 && one.at > other.at);
}

const RANKS = { command: 0, key: 1, channel: 2 } as const;

/** The session of the caller ends after its reply. */
function close(session: Session, caller: Session | undefined): void {
  if (session === caller) session.closing = true;
  else {
    session.listener.close();
    session.close();
  }
}

function unmatched(word: string): ErrorReply {
  return new ErrorReply(
    `ERR Unmatched parenthesis in acl selector starting at '${printed(word)}'.`,
  );
}

const MONITOR = ['monitor'];
const SCAN = ['scan'];
/** redis.LOG_WARNING. */
const LOG_WARNING = 3;

const NO_KEY = new ErrorReply(
  'NOPERM this user has no permissions to access one of the keys used as arguments',
);
const NO_CHANNEL = new ErrorReply(
  'NOPERM this user has no permissions to access one of the channels used as arguments',
);
const BAD_NAME = new ErrorReply("ERR Usernames can't contain spaces or null characters");
const TOO_MANY_RULES = new ErrorReply(`ERR A user has at most ${MAX_RULES} rules`);
const NOT_THE_DEFAULT = new ErrorReply("ERR The 'default' user cannot be removed");
const NO_FILE = new ErrorReply(
  'ERR This Redis instance is not configured to use an ACL file. You may want to specify users via the ACL SETUSER command and then issue a CONFIG REWRITE (assuming you have a Redis configuration file set) in order to store users in the Redis configuration.',
);
const NOT_SAVED = new ErrorReply(
  'ERR There was an error trying to save the ACLs. Please check the server logs for more information',
);
const NOTHING_CHANGED =
  'WARNING: ACL errors detected, no change to the previously active ACL rules was performed';
