/** What ends a wait for the lock; a command gets them too. */
const ENDING = ['SIGINT', 'SIGTERM', 'SIGHUP', 'SIGQUIT', 'SIGUSR1', 'SIGUSR2'] as const;
/** What is of no use to anybody but a command. */
const OTHERS = ['SIGCONT', 'SIGWINCH'] as const;
/** On a terminal it is heard last of all, see forwardAll. */
const STOP = 'SIGTSTP';

/** A command on the same terminal has it already. */
const RESIZE = 'SIGWINCH';
/** Ctrl-C, Ctrl-\\ and Ctrl-Z: a command has them already, unless they were sent to this process alone. */
const FROM_KEYBOARD: ReadonlySet<NodeJS.Signals> = new Set(['SIGINT', 'SIGQUIT', 'SIGTSTP']);

export interface SignalTarget {
  forward(signal: NodeJS.Signals): Promise<void>;
  /** Ctrl-Z stopped the command, and the runner is to stop with it. */
  suspend(): void;
  /** On a terminal: whether the command got this signal too. */
  gotIt(signal: NodeJS.Signals): Promise<boolean>;
}

const NOBODY: SignalTarget = { async forward() {}, suspend() {}, gotIt: async () => true };

/**
 * What becomes of the signals that this process gets. None ends it, so that no lock stays behind: before
 * the command runs they abort what is under way, then they go to the command, and after its end they
 * only wait for ours.
 */
export class SignalRouter implements Disposable {
  readonly #hasTerminal: boolean;
  readonly #interruption = new AbortController();
  #target: SignalTarget | undefined;
  /** Whether the command was stopped by what this process alone was sent: so it is to go on. */
  #hasPassedStop = false;
  #continueCount = 0;
  #interruptedBy: NodeJS.Signals | undefined;

  constructor(hasTerminal: boolean) {
    this.#hasTerminal = hasTerminal;
    for (const signal of ENDING) this.#listen(signal);
  }

  /** Aborts when a signal came that nobody else was there to get. */
  get interrupted(): AbortSignal {
    return this.#interruption.signal;
  }

  get interruptedBy(): NodeJS.Signals | undefined {
    return this.#interruptedBy;
  }

  /** From now on the command gets them. */
  forwardTo(target: SignalTarget): void {
    this.#target = target;
    for (const signal of OTHERS) this.#listen(signal);
    if (!this.#hasTerminal) this.#listen(STOP);
  }

  /**
   * The command runs: on a terminal it is to be stopped too. No earlier, as Ctrl-Z while it starts stops
   * both it and this process, which would otherwise wait for the start to go on.
   */
  forwardAll(): void {
    if (this.#hasTerminal) this.#listen(STOP);
  }

  /** The command has ended, and how it did is what will be told. */
  stopForwarding(): void {
    this.#target = NOBODY;
  }

  /** Does what the signal does by itself to a process, and listens again if that comes back from it. */
  takeEffect(signal: NodeJS.Signals): void {
    process.off(signal, this.#receive);
    process.kill(process.pid, signal);
    process.on(signal, this.#receive);
  }

  [Symbol.dispose](): void {
    for (const signal of [...ENDING, ...OTHERS, STOP]) process.off(signal, this.#receive);
  }

  #listen(signal: NodeJS.Signals): void {
    process.on(signal, this.#receive);
  }

  readonly #receive = (signal: NodeJS.Signals): void => {
    if (this.#target === undefined) this.#interrupt(signal);
    else if (!this.#hasTerminal) void this.#target.forward(signal);
    else if (FROM_KEYBOARD.has(signal)) void this.#receiveKey(signal, this.#target);
    else if (signal === 'SIGCONT') this.#goOn(this.#target);
    else if (signal !== RESIZE) void this.#target.forward(signal);
  };

  async #receiveKey(signal: NodeJS.Signals, target: SignalTarget): Promise<void> {
    const continueCount = this.#continueCount;
    const isShared = await target.gotIt(signal);
    // In the meantime the command may have ended.
    if (target !== this.#target) return;
    if (signal !== STOP) {
      if (!isShared) await target.forward(signal);
    } else if (continueCount === this.#continueCount) {
      this.#hasPassedStop = !isShared;
      if (!isShared) await target.forward(signal);
      target.suspend();
    }
  }

  #goOn(target: SignalTarget): void {
    this.#continueCount++;
    if (this.#hasPassedStop) void target.forward('SIGCONT');
    this.#hasPassedStop = false;
  }

  #interrupt(signal: NodeJS.Signals): void {
    this.#interruptedBy ??= signal;
    this.#interruption.abort();
  }
}
