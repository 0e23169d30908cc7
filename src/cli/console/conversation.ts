import { ErrorReply, type Protocol, QUEUED, type Reply, SimpleReply } from '../../resp/index.ts';
import { textOf } from '../bytes.ts';
import type { StoreAddress } from '../store-address.ts';
import { replyAdvice } from '../store-advice.ts';
import { Client, ConnectionError } from './client.ts';

interface ConversationOptions {
  readonly store: StoreAddress;
  readonly protocol?: Protocol | undefined;
  /** Prints a reply; `asIs` is set for commands that reply with a page of text. */
  readonly show: (reply: Reply, asIs: boolean) => void;
  /** Prints a message of the client: an error and advice. */
  readonly say: (message: string) => void;
  /** Prints replies only. */
  readonly raw: boolean;
  /** Prints pushed messages also without a SUBSCRIBE or MONITOR that waits for them. */
  readonly showsPushes: boolean;
}

/**
 * The result of a command. `unanswered`: there is no connection, or it broke; `stopped`: the user stopped it.
 */
export type Result = 'answered' | 'error' | 'unanswered' | 'stopped';

/**
 * An interactive connection to a server: it connects when needed, keeps track of the database and the transaction for
 * the prompt, and prints messages after SUBSCRIBE and MONITOR.
 */
export class Conversation {
  readonly #options: ConversationOptions;
  readonly #client: Client;
  #database: number;
  /** The database to restore if the transaction is discarded; null outside of one. */
  #databaseBeforeMulti: number | null = null;
  #busy = false;
  #endListening: (() => void) | null = null;
  /** Messages that arrived with the reply to SUBSCRIBE or MONITOR, before the reply was printed. */
  #early: Reply[] | null = null;
  #closing = false;
  #hasAdvised = false;

  constructor(options: ConversationOptions) {
    this.#options = options;
    this.#database = options.store.database;
    this.#client = new Client({
      store: options.store,
      onPush: (reply) => this.#receive(reply),
      onClose: () => this.#lose(),
    });
  }

  get prompt(): string {
    if (!this.#client.connected) return 'not connected> ';
    const database = this.#database === 0 ? '' : `[${this.#database}]`;
    const transaction = this.#databaseBeforeMulti === null ? '' : '(TX)';
    return `${this.#options.store.label}${database}${transaction}> `;
  }

  /** A command runs, or the connection is subscribed. */
  get busy(): boolean {
    return this.#busy;
  }

  /** Connects, signs in and selects the database. Prints errors. */
  async open(): Promise<Result> {
    return this.#guard(() => this.#connect());
  }

  /** Runs a command and shows the answer. */
  async run(argv: readonly string[]): Promise<Result> {
    return this.#guard(async () => {
      if (!this.#client.connected) await this.#connect();
      this.#early = LISTENING.has(nameOf(argv)) ? [] : null;
      const reply = await this.#request(argv);
      this.#follow(argv, reply);
      await this.#present(argv, reply);
      return reply instanceof ErrorReply ? 'error' : 'answered';
    });
  }

  /** Closes the connection, which ends the running command or subscription on the server too. */
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
    if (reply.code === 'WRONGPASS') this.#options.say(replyAdvice(reply.message)!);
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
    this.#early = null;
  }

  /** Once: a prompt may be signed in with AUTH later. */
  #advise(reply: Reply): void {
    const { store, say } = this.#options;
    const isUnknown = reply instanceof ErrorReply && reply.code === 'NOAUTH';
    if (!isUnknown || store.password !== '' || this.#hasAdvised) return;
    this.#hasAdvised = true;
    say(replyAdvice(reply.message)!);
  }

  /** Until Ctrl-C or the end of the connection. */
  async #listen(): Promise<void> {
    await new Promise<void>((resolve) => {
      this.#endListening = resolve;
      for (const reply of this.#early ?? []) this.#options.show(reply, false);
      this.#early = null;
    });
    this.#endListening = null;
    throw new ConnectionError('The connection was lost.');
  }

  #receive(reply: Reply): void {
    if (this.#early !== null) this.#early.push(reply);
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

  /** Updates the state of the prompt after a reply. */
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
/** The reply to SHUTDOWN: the server closes the connection instead of one. */
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
