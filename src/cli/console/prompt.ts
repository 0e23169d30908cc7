import { createInterface, type Interface } from 'node:readline';
import type { Io } from '../verb.ts';
import { complete } from './completion.ts';
import type { Conversation } from './conversation.ts';
import { History, isSecret, MOST_LINES } from './history.ts';
import type { Paint } from './paint.ts';

/** What happens to a line; false ends the prompt. */
type LineHandler = (line: string) => Promise<boolean>;

/** The line that a person types into, with history and completion. */
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
      historySize: MOST_LINES,
      removeHistoryDuplicates: true,
      completer: (line: string) => [this.#complete(line), line],
    });
    this.#reader.on('history', (lines: string[]) => forgetSecrets(lines));
    this.#reader.on('SIGINT', () => this.#interrupt());
  }

  /** Hands over line after line until the handler or the person has enough. */
  async run(handle: LineHandler): Promise<void> {
    this.#ask();
    let goesOn = true;
    for await (const line of this.#reader) {
      this.#typing = false;
      this.#history.add(line);
      goesOn = await handle(line);
      if (!goesOn) break;
      this.#ask();
    }
    if (goesOn) this.#io.output.write('\n');
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
    this.#ask();
  }

  #ask(): void {
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

  /** Ctrl-C takes back one thing: what runs, else what was typed, else the prompt itself. */
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

/** In place, which is how readline lets its memory be changed. */
function forgetSecrets(lines: string[]): void {
  const kept = lines.filter((line) => !isSecret(line));
  if (kept.length < lines.length) lines.splice(0, lines.length, ...kept);
}
