import { createInterface, type Interface } from 'node:readline';
import type { Io } from '../verb.ts';
import { complete } from './completion.ts';
import type { Conversation } from './conversation.ts';
import { History, isSecret, MAX_LINES } from './history.ts';
import type { Paint } from './paint.ts';

/** Handles a line. False ends the prompt. */
type LineHandler = (line: string) => Promise<boolean>;

/** The prompt, with history and completion. */
export class Prompt {
  readonly #reader: Interface;
  readonly #conversation: Conversation;
  readonly #history = new History();
  readonly #io: Io;
  readonly #paint: Paint;
  #typing = false;

  constructor(conversation: Conversation, io: Io, paint: Paint) {
    this.#conversation = conversation;
    this.#io = io;
    this.#paint = paint;
    this.#reader = createInterface({
      input: io.input,
      output: io.output,
      terminal: true,
      history: this.#history.load(),
      historySize: MAX_LINES,
      removeHistoryDuplicates: true,
      completer: (line: string) => [this.#complete(line), line],
    });
    this.#reader.on('history', (lines: string[]) => forgetSecrets(lines));
    this.#reader.on('SIGINT', () => this.#interrupt());
  }

  /** Calls the handler for each line, until it returns false or the input ends. */
  async run(handle: LineHandler): Promise<void> {
    this.#prompt();
    let continues = true;
    for await (const line of this.#reader) {
      this.#typing = false;
      this.#history.add(line);
      continues = await handle(line);
      if (!continues) break;
      this.#prompt();
    }
    if (continues) this.#io.output.write('\n');
    this.#reader.close();
  }

  /** Writes above the line that is being typed. */
  write(text: string): void {
    if (!this.#typing) {
      this.#io.output.write(text, 'latin1');
      return;
    }
    this.#io.output.write('\r\x1b[J');
    this.#io.output.write(text, 'latin1');
    this.#prompt();
  }

  #prompt(): void {
    this.#typing = true;
    this.#reader.setPrompt(this.#conversation.prompt);
    this.#reader.prompt(true);
  }

  #complete(line: string): string[] {
    const { lines, hint } = complete(line);
    // Not inside the completer: readline draws the line again when it returns.
    if (hint !== '') queueMicrotask(() => this.write(`${this.#paint('faint', hint)}\n`));
    return [...lines];
  }

  /** Ctrl-C stops the running command, else clears the line, else ends the prompt. */
  #interrupt(): void {
    if (this.#conversation.busy) this.#conversation.close();
    else if (this.#reader.line === '') this.#reader.close();
    else this.#discardLine();
  }

  #discardLine(): void {
    this.#reader.write(null, { ctrl: true, name: 'e' });
    this.#reader.write(null, { ctrl: true, name: 'u' });
  }
}

/** Changes the array in place, as readline requires. */
function forgetSecrets(lines: string[]): void {
  const kept = lines.filter((line) => !isSecret(line));
  if (kept.length < lines.length) lines.splice(0, lines.length, ...kept);
}
