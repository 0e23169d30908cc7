import type { Disk } from './disk.ts';
import {
  FILE_LINE_BYTES,
  type FileLine,
  FRAME_LINE_BYTES,
  type Frame,
  isIntact,
  LINE_BEGIN,
  parseFileLine,
  parseFrame,
} from './frame.ts';
import { Window } from './window.ts';

/** The first place of a file that is not an intact frame with the expected number. */
export interface BadPlace {
  readonly file: string;
  readonly offset: number;
  /** The number of the frame that should be there. */
  readonly expected: number;
  readonly reason: string;
}

export interface FrameEntry {
  readonly file: FileLine;
  readonly frame: Frame;
  /** Valid until the visitor returns. */
  readonly commands: Buffer;
}

/** A file of the log that Holdfast has written. */
export class Segment {
  readonly name: string;
  readonly line: FileLine;
  readonly #window: Window;

  private constructor(name: string, line: FileLine, window: Window) {
    this.name = name;
    this.line = line;
    this.#window = window;
  }

  /** Returns undefined if the file does not begin with a file line. */
  static open(disk: Disk, name: string): Segment | undefined {
    const window = new Window(disk, name);
    const line = parseFileLine(window.text(0, FILE_LINE_BYTES));
    return line === undefined ? undefined : new Segment(name, line, window);
  }

  get size(): number {
    return this.#window.size;
  }

  /** Visits the frames in order, from number `expected` on. Returns the first bad place, if there is one. */
  visit(expected: number, visitor: (entry: FrameEntry) => void): BadPlace | undefined {
    let offset = FILE_LINE_BYTES;
    let next = expected;
    while (offset < this.size) {
      const entry = this.#entryAt(offset);
      if (typeof entry === 'string') return this.#bad(offset, next, entry);
      if (entry.frame.number !== next) {
        return this.#bad(offset, next, `frame ${entry.frame.number} is in its place`);
      }
      visitor(entry);
      offset += FRAME_LINE_BYTES + entry.frame.bytes;
      next++;
    }
    return undefined;
  }

  /** Finds intact frames after a bad place, wherever they begin. */
  *framesAfter(offset: number): Generator<Frame> {
    for (let at = offset + 1; at < this.size; ) {
      const piece = this.#window.text(at, SEARCH_BYTES);
      const found = piece.indexOf(LINE_BEGIN);
      if (found < 0) {
        if (at + piece.length >= this.size) return;
        at += piece.length - LINE_BEGIN.length;
        continue;
      }
      at += found;
      const entry = this.#entryAt(at);
      if (typeof entry !== 'string') yield entry.frame;
      at += 1;
    }
  }

  /** The entry at an offset, or the reason why there is none. */
  #entryAt(offset: number): FrameEntry | string {
    const line = this.#window.text(offset, FRAME_LINE_BYTES);
    const frame = parseFrame(line);
    if (frame === undefined) return 'there is no frame line';
    if (offset + FRAME_LINE_BYTES + frame.bytes > this.size) return 'the frame is not complete';
    const commands = this.#window.at(offset + FRAME_LINE_BYTES, frame.bytes);
    if (!isIntact(line, this.line.id, commands)) return 'the CRC is wrong';
    return { file: this.line, frame, commands };
  }

  #bad(offset: number, expected: number, reason: string): BadPlace {
    return { file: this.name, offset, expected, reason };
  }
}

const SEARCH_BYTES = 64 * 1024;
