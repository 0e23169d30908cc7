import { ErrorReply, type Protocol, QUEUED, type Reply, SimpleReply } from '../../resp/index.ts';
import { textOf } from '../bytes.ts';
import type { StoreAddress } from '../store-address.ts';
import { PASSWORD_ADVICE } from '../store-advice.ts';
import { Client, ConnectionError } from './client.ts';

interface ConversationOptions {
  readonly store: StoreAddress;
  readonly protocol?: Protocol | undefined;
  /** Shows a reply; `asIs` is set for commands whose answer is a page of text. */
  readonly show: (reply: Reply, asIs: boolean) => void;
  /** Says something of its own: what went wrong, and what to do. */
  readonly say: (message: string) => void;
  /** Shows nothing but replies. */
  readonly raw: boolean;
  /** Shows messages that answer no command also while nobody listens for them. */
  readonly showsPushes: boolean;
}

/**
 * How a command went. `unanswered`: there is no connection, or not any more; `stopped`: the person
 * gave it up.
 */
export type Result = 'answered' | 'error' | 'unanswered' | 'stopped';

/**
 * A talk with a server as a person has it: it connects when needed, remembers the database and the
 * transaction for the prompt, and stays to listen after SUBSCRIBE and MONITOR.
 */
export class Conversation {
  readonly #options: ConversationOptions;
  readonly #client: Client;
  #database: number;
  /** The database to go back to if the transaction does not run; null outside of one. */
  #databaseBeforeMulti: number | null = null;
  #busy = false;
  #endListening: (() => void) | null = null;
  /** What arrived after the answer to SUBSCRIBE or MONITOR, in the same breath, before it was shown. */
  #heard: Reply[] | null = null;
  #closing = false;
  #hasAdvised = false;

  constructor(options: ConversationOptions) {
    this.#options = options;
    this.#database = options.store.database;
    this.#client = new Client({
      store: options.store,
      onPush: (reply) => this.#hear(reply),
      onClose: () => this.#lose(),
    });
  }

  get prompt(): string {
    if (!this.#client.connected) return 'not connected> ';
    const database = this.#database === 0 ? '' : `[${this.#database}]`;
    const transaction = this.#databaseBeforeMulti === null ? '' : '(TX)';
    return `${this.#options.store.label}${database}${transaction}> `;
  }

  /** A command runs, or somebody listens. */
  get busy(): boolean {
    return this.#busy;
  }

  /** Connects, signs in and selects the database. Says what fails. */
  async open(): Promise<Result> {
    return this.#guard(() => this.#connect());
  }

  /** Runs a command and shows the answer. */
  async run(argv: readonly string[]): Promise<Result> {
    return this.#guard(async () => {
      if (!this.#client.connected) await this.#connect();
      this.#heard = LISTENING.has(nameOf(argv)) ? [] : null;
      const reply = await this.#request(argv);
      this.#follow(argv, reply);
      await this.#present(argv, reply);
      return reply instanceof ErrorReply ? 'error' : 'answered';
    });
  }

  /** Gives up what runs or listens, and the connection with it: the server learns of it by that. */
  close(): void {
    this.#closing = true;
    this.#client.close();
  }

  async #guard(work: () => Promise<Result>): Promise<Result> {
    this.#busy = true;
    this.#closing = false;
    try {
      return await work();
    } catch (error) {
      if (!(error instanceof ConnectionError)) throw error;
      if (this.#closing) return 'stopped';
      this.#options.say(error.message);
      return 'unanswered';
    } finally {
      this.#busy = false;
    }
  }

  async #connect(): Promise<Result> {
    const { store, protocol } = this.#options;
    await this.#client.connect();
    if (store.password !== '') await this.#prepare('sign in', signIn(store));
    if (protocol !== undefined)
      await this.#prepare('change the protocol', ['HELLO', `${protocol}`]);
    if (this.#database !== 0) {
      await this.#prepare('select the database', ['SELECT', `${this.#database}`]);
    }
    return 'answered';
  }

  async #prepare(purpose: string, argv: readonly string[]): Promise<void> {
    const reply = await this.#client.request(argv);
    if (!(reply instanceof ErrorReply)) return;
    if (argv[0] === 'SELECT') this.#database = 0;
    this.#options.say(`Could not ${purpose}: ${textOf(reply.message)}`);
    if (reply.code === 'WRONGPASS') this.#options.say(PASSWORD_ADVICE);
  }

  /** SHUTDOWN is answered by the end of the connection. */
  async #request(argv: readonly string[]): Promise<Reply> {
    try {
      return await this.#client.request(argv);
    } catch (error) {
      if (error instanceof ConnectionError && nameOf(argv) === 'shutdown') return GONE;
      throw error;
    }
  }

  async #present(argv: readonly string[], reply: Reply): Promise<void> {
    const { show, say, raw } = this.#options;
    if (reply === GONE) return say('The server has shut down.');
    const listens = LISTENING.has(nameOf(argv)) && !isRefusal(reply);
    if (listens && !raw && nameOf(argv) !== 'monitor') show(READING_MESSAGES, false);
    show(reply, isPage(argv));
    this.#advise(reply);
    if (listens) await this.#listen();
    this.#heard = null;
  }

  /** Once: a prompt may be signed in with AUTH later. */
  #advise(reply: Reply): void {
    const { store, say } = this.#options;
    const isUnknown = reply instanceof ErrorReply && reply.code === 'NOAUTH';
    if (!isUnknown || store.password !== '' || this.#hasAdvised) return;
    this.#hasAdvised = true;
    say(PASSWORD_ADVICE);
  }

  /** Until Ctrl-C or the end of the connection. */
  async #listen(): Promise<void> {
    await new Promise<void>((resolve) => {
      this.#endListening = resolve;
      for (const reply of this.#heard ?? []) this.#options.show(reply, false);
      this.#heard = null;
    });
    this.#endListening = null;
    throw new ConnectionError('The connection was lost.');
  }

  #hear(reply: Reply): void {
    if (this.#heard !== null) this.#heard.push(reply);
    else if (this.#endListening !== null || this.#options.showsPushes) {
      this.#options.show(reply, false);
    }
  }

  #lose(): void {
    this.#leaveTransaction(false);
    this.#endListening?.();
    if (!this.#busy && !this.#closing) {
      this.#options.say('The connection was lost. The next command connects again.');
    }
  }

  /** What the prompt must know of a command that was answered. */
  #follow(argv: readonly string[], reply: Reply): void {
    const name = nameOf(argv);
    if (name === 'exec') this.#leaveTransaction(Array.isArray(reply));
    if (reply instanceof ErrorReply) return;
    if (name === 'discard') this.#leaveTransaction(false);
    if (name === 'select') this.#database = Number(argv[1]);
    if (name === 'multi') this.#databaseBeforeMulti = this.#database;
    if (name === 'reset') {
      this.#leaveTransaction(false);
      this.#database = 0;
    }
  }

  #leaveTransaction(hasRun: boolean): void {
    if (!hasRun) this.#database = this.#databaseBeforeMulti ?? this.#database;
    this.#databaseBeforeMulti = null;
  }
}

const READING_MESSAGES = new SimpleReply('Reading messages... (press Ctrl-C to quit)');
/** Stands for the answer that a server which went away does not give. */
const GONE = new SimpleReply('');
const LISTENING: ReadonlySet<string> = new Set([
  'subscribe',
  'psubscribe',
  'ssubscribe',
  'monitor',
]);

/** Commands that answer with a page of text, which quotes would make unreadable. */
const PAGES: ReadonlySet<string> = new Set([
  'info',
  'lolwut',
  'client list',
  'client info',
  'cluster info',
  'cluster nodes',
  'memory doctor',
  'memory malloc-stats',
  'latency doctor',
  'latency graph',
  'debug htstats',
]);

function signIn({ user, password }: StoreAddress): string[] {
  return user === '' ? ['AUTH', password] : ['AUTH', user, password];
}

function isPage(argv: readonly string[]): boolean {
  return PAGES.has(nameOf(argv)) || PAGES.has(argv.slice(0, 2).join(' ').toLowerCase());
}

/** A transaction only queues a subscription. */
function isRefusal(reply: Reply): boolean {
  return (
    reply instanceof ErrorReply || (reply instanceof SimpleReply && reply.text === QUEUED.text)
  );
}

function nameOf(argv: readonly string[]): string {
  return argv[0]!.toLowerCase();
}
