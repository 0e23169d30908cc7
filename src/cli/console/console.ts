import { systemClock } from '../../clock/index.ts';
import { ErrorReply, type Protocol, type Reply, splitInlineArguments } from '../../resp/index.ts';
import { bytesOf } from '../bytes.ts';
import { lineForTerminal, messageText, pageForTerminal } from '../printable.ts';
import type { StoreAddress } from '../store-address.ts';
import type { Io } from '../verb.ts';
import { Conversation, type Result } from './conversation.ts';
import { formatReply, rawReply } from './format-reply.ts';
import type { Paint } from './paint.ts';

export interface ConsoleOptions {
  readonly store: StoreAddress;
  readonly protocol: Protocol | undefined;
  /** Prints the bytes of replies, for programs; else formats them for people. */
  readonly raw: boolean;
  /** An error is printed to stderr and makes the exit code 1. */
  readonly failsOnError: boolean;
  readonly paint: Paint;
}

/** Reads commands from a prompt, a pipe or the command line, and prints the replies. */
export class Console {
  readonly #options: ConsoleOptions;
  readonly #io: Io;
  readonly #conversation: Conversation;
  #write: (text: string) => void;
  #exitCode = 0;

  constructor(options: ConsoleOptions, io: Io) {
    this.#options = options;
    this.#io = io;
    this.#write = (text) => io.output.write(text, 'latin1');
    this.#conversation = new Conversation({
      ...options,
      show: (reply, asIs) => this.#show(reply, asIs),
      say: (message) => this.#say(message),
      showsPushes: io.output.isTTY ?? false,
    });
  }

  /** Runs one command. Returns the exit code. */
  async runOnce(argv: readonly string[]): Promise<number> {
    if (!(await this.#help(argv))) this.#count(await this.#conversation.run(argv));
    this.#conversation.close();
    return this.#exitCode;
  }

  /** Runs commands line by line until the input ends. Returns the exit code. */
  async runLines(): Promise<number> {
    const isPerson = this.#io.input.isTTY && this.#io.output.isTTY;
    if (isPerson) await this.#runPrompt();
    else await this.#runPipe();
    this.#conversation.close();
    return isPerson ? 0 : this.#exitCode;
  }

  async #runPrompt(): Promise<void> {
    await this.#conversation.open();
    const { Prompt } = await import('./prompt.ts');
    const prompt = new Prompt(this.#conversation, this.#io, this.#options.paint);
    this.#write = (text) => prompt.write(text);
    await prompt.run((line) => this.#handle(Buffer.from(line, 'utf8')));
  }

  /** Does not decode the bytes of a pipe: bytes that are not UTF-8 would be lost. */
  async #runPipe(): Promise<void> {
    const { createInterface } = await import('node:readline');
    this.#io.input.setEncoding('latin1');
    for await (const line of createInterface({ input: this.#io.input })) {
      if (!(await this.#handle(Buffer.from(line, 'latin1')))) return;
      if (this.#exitCode !== 0) return;
    }
  }

  /** Runs a line. Returns false for exit and quit. */
  async #handle(line: Buffer): Promise<boolean> {
    const words = splitInlineArguments(line, 0, line.length);
    if (words === null) this.#write('Invalid argument(s)\n');
    if (words === null || words.length === 0) return true;
    const name = words[0]!.toLowerCase();
    if (name === 'exit' || name === 'quit') return false;
    if (!(await this.#help(words))) await this.#runWords(words);
    return true;
  }

  /** Prints help if the command is help. Needs no server, but the engine's table of commands. */
  async #help([word, ...topic]: readonly string[]): Promise<boolean> {
    if (!HELP_WORDS.has(word!.toLowerCase())) return false;
    const { commandHelp } = await import('./command-help.ts');
    this.#write(`${commandHelp(topic, this.#options.paint)}\n`);
    return true;
  }

  /** A number before a command repeats it. */
  async #runWords(words: readonly string[]): Promise<void> {
    const repeats = words.length > 1 && /^[1-9]\d{0,8}$/.test(words[0]!);
    const argv = repeats ? words.slice(1) : words;
    for (let left = repeats ? Number(words[0]) : 1; left > 0; left--) {
      const result = await this.#runTimed(argv);
      this.#count(result);
      if (result === 'stopped') await this.#conversation.open();
      if (result === 'stopped' || result === 'unanswered') return;
    }
  }

  async #runTimed(argv: readonly string[]): Promise<Result> {
    const beganMs = systemClock.monotonicMs();
    const result = await this.#conversation.run(argv);
    const tookMs = systemClock.monotonicMs() - beganMs;
    const isAnswered = result === 'answered' || result === 'error';
    if (isAnswered && tookMs >= LONG_MS && !this.#options.raw) {
      this.#write(`(${(tookMs / 1000).toFixed(2)}s)\n`);
    }
    return result;
  }

  #count(result: Result): void {
    if (result === 'unanswered' || (result === 'error' && this.#options.failsOnError)) {
      this.#exitCode = 1;
    }
  }

  #show(reply: Reply, asIs: boolean): void {
    const { raw, failsOnError, paint } = this.#options;
    if (failsOnError && reply instanceof ErrorReply) {
      const { message } = reply;
      this.#io.errors.write(
        `${this.#io.errors.isTTY ? lineForTerminal(message) : message}\n`,
        'latin1',
      );
    } else if (asIs) {
      this.#write(raw ? rawReply(reply) : pageForTerminal(rawReply(reply)));
    } else {
      this.#write(`${raw ? rawReply(reply) : formatReply(reply, paint)}\n`);
    }
  }

  #say(message: string): void {
    // Through the prompt, which then draws its line again.
    const text = messageText(message);
    if (this.#io.output.isTTY) this.#write(`${bytesOf(text)}\n`);
    else this.#io.errors.write(`${text}\n`);
  }
}

const HELP_WORDS = new Set(['help', '?']);

/** The duration of a command is printed from this time on. */
const LONG_MS = 500;
