import { crc32 } from './crc32.ts';
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
import { RangeCrc } from './range-crc.ts';
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
  readonly #disk: Disk;
  readonly #window: Window;

  private constructor(disk: Disk, name: string, line: FileLine, window: Window) {
    this.#disk = disk;
    this.name = name;
    this.line = line;
    this.#window = window;
  }

  /** Returns undefined if the file does not begin with a file line. */
  static open(disk: Disk, name: string): Segment | undefined {
    const window = new Window(disk, name);
    const line = parseFileLine(window.text(0, FILE_LINE_BYTES));
    return line === undefined ? undefined : new Segment(disk, name, line, window);
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

  /**
   * Finds intact frames after a bad place, wherever they begin. A client can write text that looks like many long frames,
   * so that the bytes of a frame are not read to check it.
   */
  *framesAfter(offset: number): Generator<Frame> {
    let at = this.#find(offset + 1);
    if (at === undefined) return;
    const ranges = new RangeCrc(this.#disk, this.name, offset);
    while (at !== undefined) {
      const frame = this.#frameAt(at, ranges);
      if (frame !== undefined) yield frame;
      at = this.#find(frame === undefined ? at + 1 : at + FRAME_LINE_BYTES + frame.bytes);
    }
  }

  #frameAt(offset: number, ranges: RangeCrc): Frame | undefined {
    const line = this.#window.text(offset, FRAME_LINE_BYTES);
    const frame = parseFrame(line);
    const begin = offset + FRAME_LINE_BYTES;
    if (frame === undefined || begin + frame.bytes > this.size) return undefined;
    const crcOf = (earlier: number): number => ranges.of(begin, begin + frame.bytes, earlier);
    return isIntact(line, this.line.id, crcOf) ? frame : undefined;
  }

  /** Where the next text begins that may be a frame line. */
  #find(from: number): number | undefined {
    for (let at = from; at < this.size; at += SEARCH_BYTES) {
      // Also a text that begins in this piece and ends in the next.
      const piece = this.#window.at(at, SEARCH_BYTES + LINE_BEGIN.length - 1);
      const found = piece.indexOf(LINE_BEGIN, 0, 'latin1');
      if (found >= 0) return at + found;
    }
    return undefined;
  }

  /** The entry at an offset, or the reason why there is none. */
  #entryAt(offset: number): FrameEntry | string {
    const line = this.#window.text(offset, FRAME_LINE_BYTES);
    const frame = parseFrame(line);
    if (frame === undefined) return 'there is no frame line';
    if (offset + FRAME_LINE_BYTES + frame.bytes > this.size) return 'the frame is not complete';
    const commands = this.#window.at(offset + FRAME_LINE_BYTES, frame.bytes);
    const isRight = isIntact(line, this.line.id, (earlier) => crc32(commands, earlier));
    if (!isRight) return 'the CRC is wrong';
    return { file: this.line, frame, commands };
  }

  #bad(offset: number, expected: number, reason: string): BadPlace {
    return { file: this.name, offset, expected, reason };
  }
}

const SEARCH_BYTES = 64 * 1024;
