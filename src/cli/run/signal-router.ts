/** These end the wait for the lock; later they are forwarded to the command. */
const ENDING = ['SIGINT', 'SIGTERM', 'SIGHUP', 'SIGQUIT', 'SIGUSR1', 'SIGUSR2'] as const;
/** These are only forwarded to the command. */
const OTHERS = ['SIGCONT', 'SIGWINCH'] as const;
/** On a terminal the router listens to it only after the command has started, see forwardAll. */
const STOP = 'SIGTSTP';

/** The terminal sends it to the command too. */
const RESIZE = 'SIGWINCH';
/** Ctrl-C, Ctrl-\\ and Ctrl-Z: the terminal sends them to the command too. A kill of this process alone does not. */
const FROM_KEYBOARD: ReadonlySet<NodeJS.Signals> = new Set(['SIGINT', 'SIGQUIT', 'SIGTSTP']);

export interface SignalTarget {
  forward(signal: NodeJS.Signals): Promise<void>;
  /** Ctrl-Z stopped the command: stops the runner too. */
  suspend(): void;
  /** On a terminal: whether the command received this signal too. */
  wasShared(signal: NodeJS.Signals): Promise<boolean>;
}

const NOOP: SignalTarget = { async forward() {}, suspend() {}, wasShared: async () => true };

/**
 * Routes the signals that this process receives. None ends the process, so that it always releases the lock: before
 * the command runs they abort the wait, then they are forwarded to the command, and after its end they are ignored.
 */
export class SignalRouter implements Disposable {
  readonly #hasTerminal: boolean;
  readonly #interruption = new AbortController();
  #target: SignalTarget | undefined;
  /** Whether this process forwarded SIGTSTP to the command: then it forwards SIGCONT too. */
  #hasForwardedStop = false;
  #continueCount = 0;
  #interruptedBy: NodeJS.Signals | undefined;

  constructor(hasTerminal: boolean) {
    this.#hasTerminal = hasTerminal;
    for (const signal of ENDING) this.#listen(signal);
  }

  /** Aborts when a signal arrives before the command runs. */
  get interrupted(): AbortSignal {
    return this.#interruption.signal;
  }

  get interruptedBy(): NodeJS.Signals | undefined {
    return this.#interruptedBy;
  }

  /** From now on signals are forwarded to the command. */
  forwardTo(target: SignalTarget): void {
    this.#target = target;
    for (const signal of OTHERS) this.#listen(signal);
    if (!this.#hasTerminal) this.#listen(STOP);
  }

  /**
   * The command runs: from now on SIGTSTP is handled on a terminal too. Not earlier: Ctrl-Z while the command starts
   * stops both processes by its default action; with a listener this process would wait for the start to continue.
   */
  forwardAll(): void {
    if (this.#hasTerminal) this.#listen(STOP);
  }

  /** The command has ended: later signals do not change the exit code. */
  stopForwarding(): void {
    this.#target = NOOP;
  }

  /** Performs the default action of the signal. If the process continues after it, listens again. */
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
    else if (signal === 'SIGCONT') this.#continue(this.#target);
    else if (signal !== RESIZE) void this.#target.forward(signal);
  };

  async #receiveKey(signal: NodeJS.Signals, target: SignalTarget): Promise<void> {
    const continueCount = this.#continueCount;
    const isShared = await target.wasShared(signal);
    // The command may have ended meanwhile.
    if (target !== this.#target) return;
    if (signal !== STOP) {
      if (!isShared) await target.forward(signal);
    } else if (continueCount === this.#continueCount) {
      this.#hasForwardedStop = !isShared;
      if (!isShared) await target.forward(signal);
      target.suspend();
    }
  }

  #continue(target: SignalTarget): void {
    this.#continueCount++;
    if (this.#hasForwardedStop) void target.forward('SIGCONT');
    this.#hasForwardedStop = false;
  }

  #interrupt(signal: NodeJS.Signals): void {
    this.#interruptedBy ??= signal;
    this.#interruption.abort();
  }
}
