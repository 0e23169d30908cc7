import { ErrorReply } from '../resp/index.ts';
import type { Engine, SyncMode } from './engine.ts';
import { SYNTAX_ERROR } from './errors.ts';
import { globFilter } from './glob.ts';
import { formatEventClasses, parseEventClasses } from './notifications.ts';
import {
  anyText,
  integer,
  memory,
  memoryOrPercent,
  oneOf,
  only,
  yesOrNo,
} from './setting-kinds.ts';
import { MAX_PASSWORD_BYTES } from './sign-in.ts';
import { lower, printed } from './text.ts';

export type SettingValues = Readonly<Partial<Record<SettingName, string>>>;

interface Setting {
  readonly default: string;
  readonly kind: (text: string, engine: Engine) => string;
  /** CONFIG SET rejects it: it is set when the server starts, or is constant. */
  readonly fixed?: true;
  /** Redacted in MONITOR and SLOWLOG. */
  readonly secret?: true;
  /** Other names of the setting in Redis. */
  readonly aliases?: readonly string[];
  /** Formats the value for CONFIG GET. Default: the value as it was set. */
  readonly show?: (value: string) => string;
  /** Applies a new value to the engine. */
  readonly apply?: (engine: Engine, value: string) => void;
}

const INT32_MAX = 2 ** 31 - 1;
const UINT32_MAX = 2 ** 32 - 1;
const NO_EVICTION = 'keys are never evicted here, because an evicted lock would be granted twice';
const NO_CLUSTER = 'this server is a single node';
const NO_SNAPSHOTS = 'there are no snapshots here: see appendonly';

/** The settings of CONFIG, by name. Times and sizes are in the units of Redis. */
const SETTINGS = {
  // Network.
  port: { default: '6379', kind: integer(0, 65535), fixed: true },
  bind: { default: '127.0.0.1', kind: anyText, fixed: true },
  unixsocket: { default: '', kind: anyText, fixed: true },
  'protected-mode': { default: 'yes', kind: yesOrNo, fixed: true },
  'tcp-keepalive': { default: '300', kind: integer(0, INT32_MAX) },
  timeout: { default: '0', kind: integer(0, INT32_MAX) },
  maxclients: { default: '10000', kind: integer(1, UINT32_MAX) },
  databases: { default: '16', kind: integer(1, 10_000), fixed: true },
  requirepass: {
    default: '',
    kind: password,
    secret: true,
    apply: (engine, value) => engine.acl.setDefaultPassword(value),
  },
  // Users.
  aclfile: { default: '', kind: anyText, fixed: true },
  'acl-pubsub-default': { default: 'resetchannels', kind: oneOf('allchannels', 'resetchannels') },
  'acllog-max-len': {
    default: '128',
    kind: integer(0),
    apply: (engine, value) => engine.acl.log.limit(Number(value)),
  },
  'tls-port': { default: '0', kind: integer(0, 65535), fixed: true },
  'tls-cert-file': { default: '', kind: anyText, fixed: true },
  'tls-key-file': { default: '', kind: anyText, fixed: true },
  'tls-ca-cert-file': { default: '', kind: anyText, fixed: true },
  'tls-auth-clients': { default: 'yes', kind: oneOf('yes', 'optional', 'no'), fixed: true },
  'tls-auth-clients-user': { default: 'off', kind: certificateField, fixed: true },
  'proto-max-bulk-len': { default: '536870912', kind: memory(2 ** 20) },
  'client-query-buffer-limit': { default: '1073741824', kind: memory(2 ** 20) },
  // Limits of unread output, of a client and of a subscriber.
  'output-limit-normal': { default: '268435456', kind: memory(2 ** 20) },
  'output-limit-pubsub': { default: '33554432', kind: memory(2 ** 20) },

  // Memory. 0: the capacity of the process. Clients are evicted when they exceed their share of it.
  maxmemory: {
    default: '0',
    kind: memoryWithinCapacity,
    apply: (engine, value) => engine.memory.setLimit(Number(value)),
  },
  'maxmemory-clients': {
    default: '25%',
    kind: memoryOrPercent,
    apply: (engine, value) => engine.memory.setClientsLimit(value),
  },
  'maxmemory-policy': { default: 'noeviction', kind: only('noeviction', NO_EVICTION) },

  // Persistence.
  save: { default: '', kind: only('', NO_SNAPSHOTS) },
  appendonly: { default: 'no', kind: yesOrNo, fixed: true },
  appendfsync: {
    default: 'everysec',
    kind: oneOf('everysec', 'always', 'no'),
    apply(engine, value) {
      engine.syncMode = value as SyncMode;
    },
  },
  'auto-aof-rewrite-percentage': { default: '100', kind: integer(0, INT32_MAX) },
  'auto-aof-rewrite-min-size': { default: '67108864', kind: memory(0) },
  appendfilename: { default: 'appendonly.aof', kind: anyText, fixed: true },
  dir: { default: '.', kind: anyText, fixed: true },

  // The log of the server.
  loglevel: { default: 'notice', kind: oneOf('debug', 'verbose', 'notice', 'warning') },
  'log-format': { default: 'text', kind: oneOf('text', 'json'), fixed: true },

  // Events, slow log, latency.
  'notify-keyspace-events': {
    default: '',
    kind: eventClasses,
    show: (letters) => formatEventClasses(parseEventClasses(letters)),
    apply: applyEvents,
  },
  'slowlog-log-slower-than': { default: '10000', kind: integer(-1), apply: applySlowThreshold },
  'slowlog-max-len': {
    default: '128',
    kind: integer(0),
    apply: (engine, value) => engine.slowLog.limit(Number(value)),
  },
  // The events of locks that HOLDFAST.HISTORY returns; 0: none.
  'lock-history-size': {
    default: '0',
    kind: memory(0),
    apply: (engine, value) => engine.lockHistory.limit(Number(value)),
  },
  'latency-monitor-threshold': {
    default: '0',
    kind: integer(0),
    apply: (engine, value) => engine.latency.setThreshold(Number(value)),
  },

  // Scripts. No client can interrupt a script, so that a budget stops it; 0: no limit.
  'busy-reply-threshold': { default: '5000', kind: integer(0), aliases: ['lua-time-limit'] },
  'script-budget-steps': {
    default: '0',
    kind: integer(0),
    apply(engine, value) {
      engine.scriptBudgetSteps = Number(value) || Number.POSITIVE_INFINITY;
    },
  },
  'script-budget-ms': {
    default: '500',
    kind: integer(0),
    apply(engine, value) {
      engine.scriptBudgetMs = Number(value) || Number.POSITIVE_INFINITY;
    },
  },

  // The sizes at which Redis changes the encoding of a value; OBJECT ENCODING follows them.
  'hash-max-listpack-entries': fact('512', 'hash-max-ziplist-entries'),
  'hash-max-listpack-value': fact('64', 'hash-max-ziplist-value'),
  'list-max-listpack-size': fact('-2', 'list-max-ziplist-size'),
  'list-compress-depth': fact('0'),
  'set-max-intset-entries': fact('512'),
  'zset-max-listpack-entries': fact('128', 'zset-max-ziplist-entries'),
  'zset-max-listpack-value': fact('64', 'zset-max-ziplist-value'),

  // Constants that clients and tools read.
  'cluster-enabled': { default: 'no', kind: only('no', NO_CLUSTER), fixed: true },
  hz: fact('10'),
  'lazyfree-lazy-user-flush': fact('no'),
  'active-expire-effort': fact('1'),
} as const satisfies Record<string, Setting>;

export type SettingName = keyof typeof SETTINGS;

const SETTING_NAMES = Object.keys(SETTINGS) as SettingName[];

/** Every name and alias. */
const NAMES: ReadonlyMap<string, SettingName> = new Map(
  SETTING_NAMES.flatMap((name) => {
    const { aliases = [] }: Setting = SETTINGS[name];
    return [name, ...aliases].map((each) => [each, name] as const);
  }),
);

/** The current values of SETTINGS. */
export class Settings {
  readonly #engine: Engine;
  readonly #texts = new Map<SettingName, string>();
  readonly #numbers = new Map<SettingName, number>();

  constructor(engine: Engine, initial: SettingValues) {
    this.#engine = engine;
    for (const name of SETTING_NAMES) this.put(name, initial[name] ?? SETTINGS[name].default);
    for (const name of Object.keys(initial)) {
      if (!(name in SETTINGS)) throw new Error(`there is no setting '${name}'`);
    }
  }

  text(name: SettingName): string {
    return this.#texts.get(name)!;
  }

  number(name: SettingName): number {
    return this.#numbers.get(name)!;
  }

  flag(name: SettingName): boolean {
    return this.text(name) === 'yes';
  }

  /** Sets any setting, also a fixed one: for the code that starts the server. */
  put(name: SettingName, value: string): void {
    try {
      this.#use(name, SETTINGS[name].kind(value, this.#engine));
    } catch (error) {
      if (error instanceof ErrorReply) throw new Error(`${name}: ${error.message}`);
      throw error;
    }
  }

  /** The setting with this name or alias, in any case. */
  nameOf(word: string): SettingName | undefined {
    return NAMES.get(lower(word));
  }

  /** Every name and alias. */
  names(): string[] {
    return [...NAMES.keys()];
  }

  /** The current values, as CONFIG GET shows them. */
  values(): Map<SettingName, string> {
    return new Map(SETTING_NAMES.map((name) => [name, this.#shown(name)]));
  }

  /** CONFIG GET: the matching names, as the client wrote them, with their values. */
  matching(patterns: readonly string[]): Map<string, string> {
    const found = new Map<string, readonly [shownAs: string, value: string]>();
    for (const pattern of patterns) {
      const folded = lower(pattern);
      const exact = NAMES.get(folded);
      const names = exact === undefined ? namesLike(folded) : [folded];
      for (const name of names) {
        if (found.has(name)) continue;
        found.set(name, [exact ? pattern : name, this.#shown(NAMES.get(name)!)]);
      }
    }
    return new Map(found.values());
  }

  /** CONFIG SET: `args` has names and values in turn. Changes all settings, or throws an ErrorReply and changes none. */
  change(args: readonly string[]): void {
    if (args.length % 2 !== 0) throw SYNTAX_ERROR;
    const names: SettingName[] = [];
    for (let at = 0; at < args.length; at += 2) names.push(changeable(args[at]!, names));
    const values = names.map((name, index) => this.#read(name, args, index * 2));
    names.forEach((name, index) => {
      this.#use(name, values[index]!);
    });
  }

  #shown(name: SettingName): string {
    const { show }: Setting = SETTINGS[name];
    return show ? show(this.text(name)) : this.text(name);
  }

  #read(name: SettingName, args: readonly string[], at: number): string {
    try {
      return SETTINGS[name].kind(args[at + 1]!, this.#engine);
    } catch (error) {
      throw error instanceof ErrorReply ? refusal(lower(args[at]!), error.message) : error;
    }
  }

  #use(name: SettingName, value: string): void {
    const setting: Setting = SETTINGS[name];
    this.#texts.set(name, value);
    this.#numbers.set(name, Number(value));
    setting.apply?.(this.#engine, value);
  }
}

function namesLike(pattern: string): string[] {
  if (!GLOB_SIGN.test(pattern)) return [];
  const fits = globFilter(pattern);
  return [...NAMES.keys()].filter(fits);
}

/** As in Redis, these chars make CONFIG GET match all names. */
const GLOB_SIGN = /[[*?]/;

/** Whether the value of a setting must not be shown. */
export function isSecretSetting(word: string): boolean {
  const name = NAMES.get(lower(word));
  if (name === undefined) return false;
  const setting: Setting = SETTINGS[name];
  return setting.secret === true;
}

function changeable(word: string, earlier: readonly SettingName[]): SettingName {
  const name = NAMES.get(lower(word));
  if (name === undefined) {
    throw new ErrorReply(
      `ERR Unknown option or number of arguments for CONFIG SET - '${printed(word)}'`,
    );
  }
  const setting: Setting = SETTINGS[name];
  if (setting.fixed) throw refusal(word, "can't set immutable config");
  if (earlier.includes(name)) throw refusal(word, 'duplicate parameter');
  return name;
}

function refusal(word: string, reason: string): ErrorReply {
  return new ErrorReply(
    `ERR CONFIG SET failed (possibly related to argument '${printed(word)}') - ${reason}`,
  );
}

function fact(value: string, ...aliases: readonly string[]): Setting {
  return { default: value, kind: anyText, fixed: true, aliases };
}

function password(text: string): string {
  if (text.length <= MAX_PASSWORD_BYTES) return text;
  throw new ErrorReply(`argument must have at most ${MAX_PASSWORD_BYTES} bytes`);
}

/** The field of a client certificate that names the user. */
function certificateField(text: string): string {
  const word = oneOf('cn', 'off')(text);
  return word === 'cn' ? 'CN' : word;
}

function eventClasses(text: string): string {
  parseEventClasses(text);
  return text;
}

function memoryWithinCapacity(text: string, { memory: { capacityBytes } }: Engine): string {
  const bytes = memory(0)(text);
  if (Number(bytes) <= capacityBytes) return bytes;
  throw new ErrorReply(
    `the heap of this process holds at most ${capacityBytes} bytes; start the server with a larger --maxmemory`,
  );
}

function applyEvents(engine: Engine, value: string): void {
  engine.eventBits = parseEventClasses(value);
}

/** In microseconds; -1 turns the slow log off. */
function applySlowThreshold(engine: Engine, value: string): void {
  engine.slowLog.thresholdMs = value === '-1' ? Number.POSITIVE_INFINITY : Number(value) / 1000;
}
