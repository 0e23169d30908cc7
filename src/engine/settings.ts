import { ErrorReply } from '../resp/index.ts';
import type { Engine } from './engine.ts';
import { formatEventClasses, parseEventClasses } from './notifications.ts';
import { parseInteger } from './number.ts';

export type SettingValues = Readonly<Partial<Record<SettingName, string>>>;

interface Setting {
  readonly default: string;
  /** Left out: text. */
  readonly kind?: 'number' | 'boolean';
  /** CONFIG SET refuses it: fixed when the server starts. */
  readonly immutable?: true;
  /** Takes a new value into use; gives the value as CONFIG GET shows it. Throws ErrorReply. */
  readonly apply?: (engine: Engine, value: string) => string;
}

/** Everything that CONFIG knows, by name. */
const SETTINGS = {
  databases: { default: '16', kind: 'number', immutable: true },
  'notify-keyspace-events': {
    default: '',
    apply(engine, value) {
      engine.eventBits = parseEventClasses(value);
      return formatEventClasses(engine.eventBits);
    },
  },
  requirepass: {
    default: '',
    apply(engine, value) {
      engine.needsPassword = value !== '';
      return value;
    },
  },
} as const satisfies Record<string, Setting>;

export type SettingName = keyof typeof SETTINGS;

/** The current values of SETTINGS. */
export class Settings {
  readonly #engine: Engine;
  readonly #values = new Map<SettingName, string>();

  constructor(engine: Engine, initial: SettingValues) {
    this.#engine = engine;
    for (const name of SETTING_NAMES) this.#put(name, initial[name] ?? SETTINGS[name].default);
  }

  text(name: SettingName): string {
    return this.#values.get(name)!;
  }

  number(name: SettingName): number {
    return Number(this.text(name));
  }

  #put(name: SettingName, value: string): void {
    const setting: Setting = SETTINGS[name];
    if (setting.kind === 'number' && parseInteger(value) === undefined) {
      throw new ErrorReply("argument couldn't be parsed into an integer");
    }
    this.#values.set(name, setting.apply?.(this.#engine, value) ?? value);
  }
}

const SETTING_NAMES = Object.keys(SETTINGS) as SettingName[];
