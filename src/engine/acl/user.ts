import { createHash, timingSafeEqual } from 'node:crypto';
import type { Command } from '../command.ts';
import { everyCommand } from '../commands/index.ts';
import type { Selector } from './selector.ts';

/** The state of a user. It is replaced as a whole, so that no change is visible by half. */
export interface UserState {
  readonly isEnabled: boolean;
  /** Every password is right. */
  readonly hasNoPassword: boolean;
  /** Kept for ACL LIST: there is no RESTORE, whose payload it is about. */
  readonly payload: 'sanitize-payload' | 'skip-sanitize-payload' | undefined;
  /** SHA-256 in lower-case hexadecimal digits, in the order in which they were added. */
  readonly passwords: readonly string[];
  readonly root: Selector;
  readonly selectors: readonly Selector[];
}

/** A user. Sessions and exit commands hold the object: new rights apply to them at once. */
export class User {
  readonly name: string;
  /** Whether every request is allowed. Read before each command. */
  isUnrestricted!: boolean;
  /** The root selector and the others. */
  selectors!: readonly Selector[];
  /** 1 for each command that is allowed with all arguments, by its number. */
  #alwaysAllowed!: Uint8Array;
  #state!: UserState;

  constructor(name: string, state: UserState) {
    this.name = name;
    this.replace(state);
  }

  get state(): UserState {
    return this.#state;
  }

  /** Whether the arguments decide if the command is allowed, or it is refused with all of them. */
  mustCheck({ number }: Command): boolean {
    return !this.isUnrestricted && this.#alwaysAllowed[number] === 0;
  }

  replace(state: UserState): void {
    this.#state = state;
    this.selectors = [state.root, ...state.selectors];
    this.isUnrestricted = this.selectors.some((selector) => selector.isUnrestricted);
    this.#alwaysAllowed = new Uint8Array(this.isUnrestricted ? 0 : everyCommand().length);
    if (this.isUnrestricted) return;
    for (const command of everyCommand()) {
      if (this.selectors.some((selector) => selector.allowsAlways(command))) {
        this.#alwaysAllowed[command.number] = 1;
      }
    }
  }
}

/** Whether a password is right. The same hash is computed for every state, also for that of no user. */
export function acceptsPassword(state: UserState | undefined, password: string): boolean {
  const hash = Buffer.from(passwordHash(password));
  let isRight = false;
  for (const each of state?.passwords ?? [NO_HASH]) {
    isRight = timingSafeEqual(hash, Buffer.from(each)) || isRight;
  }
  return state?.isEnabled === true && (state.hasNoPassword || isRight);
}

export function passwordHash(password: string): string {
  return createHash('sha256').update(password, 'latin1').digest('hex');
}

/** No password has it. */
const NO_HASH = '-'.repeat(64);
