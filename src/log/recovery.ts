import type { Clock } from '../clock/index.ts';
import { type Engine, Loader } from '../engine/index.ts';
import { DEFAULT_REQUEST_LIMITS, RequestDecoder } from '../resp/index.ts';
import type { Boot } from './boot.ts';
import type { Disk } from './disk.ts';
import { LogError } from './errors.ts';
import { isForeignAt, visitForeignFile } from './foreign-file.ts';
import type { FileLine, Frame } from './frame.ts';
import { fileNames, type LogFileName, type Manifest } from './manifest.ts';
import { type BadPlace, type FrameEntry, Segment } from './segment.ts';
import { Window } from './window.ts';

/** What a log holds, and what was wrong with it. */
export interface Recovery {
  /** The number of the last frame. */
  readonly lastFrame: number;
  /** The files that stay: without those after a torn end. */
  readonly manifest: Manifest;
  /** The end of the log that a crash has left incomplete: it must be cut there. */
  readonly tornAt: BadPlace | undefined;
  readonly tornBytes: number;
  /** Whether the last server was stopped in order. */
  readonly isClean: boolean;
  /** Whether the last server ran in another run of the operating system, or in an unknown one. */
  readonly isOtherBoot: boolean;
  /** Whether a file was written by Redis. */
  readonly isForeign: boolean;
  /** About how many bytes at the end of a file of Redis were no whole command or transaction. */
  readonly skippedBytes: number;
  /** The wall time of the last frame; 0 if there is none. */
  readonly lastWallMs: number;
}

/** Receives what a log holds, in order. */
export interface LogVisitor {
  frame(entry: FrameEntry): void;
  foreignCommand(argv: readonly string[]): void;
}

/**
 * Reads a whole log. Throws LogError if bytes are wrong that were on the disk. A crash of the machine may leave the end
 * of the log incomplete, in any pages of the last writes: that is a torn end. It is damage if an intact frame after the
 * bad place says, by `synced`, that the disk had the missing one.
 *
 * Damage of the very last frames looks like a torn end.
 */
export function readLog(disk: Disk, manifest: Manifest, boot: Boot, visitor: LogVisitor): Recovery {
  return new Reading(disk, manifest, boot, visitor).run();
}

/** As `readLog`, but takes damage of an increment for a torn end: what is before it can be saved. */
export function readUntilDamage(disk: Disk, manifest: Manifest, boot: Boot): Recovery {
  return new Reading(disk, manifest, boot, NO_VISITOR, true).run();
}

/** Reads without an effect. */
export const NO_VISITOR: LogVisitor = { frame() {}, foreignCommand() {} };

class Reading {
  readonly #disk: Disk;
  readonly #manifest: Manifest;
  readonly #boot: Boot;
  readonly #visitor: LogVisitor;
  readonly #acceptsDamage: boolean;
  #next = 1;
  /** The last frame that the base file needs. */
  #required = 0;
  #isForeign = false;
  #skippedBytes = 0;
  /** The last increment that Holdfast has written, and its last frame. */
  #lastFile: FileLine | undefined;
  #last: Frame | undefined;
  #lastWallMs = 0;

  constructor(
    disk: Disk,
    manifest: Manifest,
    boot: Boot,
    visitor: LogVisitor,
    acceptsDamage = false,
  ) {
    this.#acceptsDamage = acceptsDamage;
    this.#disk = disk;
    this.#manifest = manifest;
    this.#boot = boot;
    this.#visitor = visitor;
  }

  run(): Recovery {
    const { base, increments } = this.#manifest;
    this.#checkFiles();
    if (base !== undefined) this.#readBase(base);
    for (const [index, increment] of increments.entries()) {
      const bad = this.#readIncrement(increment);
      if (bad !== undefined) return this.#torn(bad, index);
    }
    if (this.#next <= this.#required) throw this.#damage(`frame ${this.#next} is missing`);
    return this.#result(this.#manifest, undefined, 0);
  }

  #checkFiles(): void {
    const present = new Set(this.#disk.names());
    for (const name of fileNames(this.#manifest)) {
      if (!present.has(name)) throw this.#damage(`the file ${name} is missing`);
    }
  }

  #readBase({ name }: LogFileName): void {
    const segment = Segment.open(this.#disk, name);
    if (segment === undefined) {
      this.#readForeign(name);
      return;
    }
    let isComplete = false;
    this.#next = segment.line.next;
    const bad = segment.visit(1, (entry) => {
      isComplete = entry.frame.kind === 'e';
      this.#required = entry.frame.synced;
      this.#visitor.frame(entry);
    });
    if (bad !== undefined) throw this.#damageAt(bad);
    if (!isComplete) throw this.#damage(`the base file ${name} has no end`);
  }

  #readIncrement({ name }: LogFileName): BadPlace | undefined {
    const segment = Segment.open(this.#disk, name);
    if (segment === undefined) {
      this.#readForeign(name);
      return undefined;
    }
    this.#lastFile = segment.line;
    this.#last = undefined;
    const bad = segment.visit(this.#next, (entry) => {
      this.#next = entry.frame.number + 1;
      this.#last = entry.frame;
      this.#lastWallMs = entry.frame.wallMs;
      this.#visitor.frame(entry);
    });
    // Redis appends to the last file of the folder that it is started with, without frames.
    if (bad === undefined || !isForeignAt(new Window(this.#disk, name), bad.offset)) return bad;
    this.#readForeign(name, bad.offset);
    return undefined;
  }

  #readForeign(name: string, begin = 0): void {
    // A server of Holdfast may have skipped them before: its own files follow then.
    if (this.#skippedBytes > 0) {
      throw this.#damage(`the last command of the file before ${name} is not complete`);
    }
    this.#isForeign = true;
    this.#skippedBytes = visitForeignFile(this.#disk, name, begin, (argv) =>
      this.#visitor.foreignCommand(argv),
    );
  }

  /** The log ends at the bad place, unless a later frame says that more was on the disk. */
  #torn(bad: BadPlace, index: number): Recovery {
    const { base, increments } = this.#manifest;
    if (bad.expected <= this.#required) throw this.#damageAt(bad);
    let tornBytes = this.#disk.size(bad.file) - bad.offset;
    for (const [at, { name }] of increments.slice(index).entries()) {
      const segment = Segment.open(this.#disk, name);
      if (segment === undefined) continue;
      if (at > 0) tornBytes += segment.size;
      for (const frame of segment.framesAfter(at === 0 ? bad.offset : 0)) {
        const wasSynced = frame.number >= bad.expected && frame.synced >= bad.expected;
        if (wasSynced && !this.#acceptsDamage) throw this.#damageAt(bad);
      }
    }
    return this.#result({ base, increments: increments.slice(0, index + 1) }, bad, tornBytes);
  }

  #result(manifest: Manifest, tornAt: BadPlace | undefined, tornBytes: number): Recovery {
    return {
      lastFrame: this.#next - 1,
      manifest,
      tornAt,
      tornBytes,
      isClean: tornAt === undefined && this.#last?.kind === 'c',
      isOtherBoot: this.#lastFile !== undefined && !this.#boot.isSame(this.#lastFile.bootId),
      isForeign: this.#isForeign,
      skippedBytes: this.#skippedBytes,
      lastWallMs: this.#lastWallMs,
    };
  }

  #damageAt({ file, offset, expected, reason }: BadPlace): LogError {
    return this.#damage(`${file}, byte ${offset}, frame ${expected}: ${reason}`);
  }

  #damage(text: string): LogError {
    return new LogError(
      'damaged',
      `the log in ${this.#disk.path} is damaged: ${text}. Nothing was changed. Restore the folder from a backup, or see ` +
        'holdfast check --repair.',
    );
  }
}

/** Loads a log into an engine. Throws LogError. */
export function loadLog(
  disk: Disk,
  manifest: Manifest,
  boot: Boot,
  engine: Engine,
  clock: Clock,
): Recovery {
  const loader = new Loader(engine);
  const decoder = new RequestDecoder({ ...DEFAULT_REQUEST_LIMITS });
  const nowMs = clock.monotonicMs();
  const bootOffsetMs = boot.nowMs() - nowMs;
  try {
    return readLog(disk, manifest, boot, {
      frame({ file, frame, commands }) {
        // In another run of the operating system the time that has passed is unknown: a lease gets its whole time again.
        const offsetMs = boot.isSame(file.bootId)
          ? frame.offsetMs + bootOffsetMs
          : frame.wallMs - nowMs;
        loader.setTime({ kind: 'offset', offsetMs });
        decoder.push(commands);
        for (let argv = decoder.next(); argv !== null; argv = decoder.next()) {
          applyTo(loader, argv, disk);
        }
        if (loader.excessBytes > MAX_EXCESS_BYTES) throw tooLarge(loader.excessBytes);
      },
      foreignCommand(argv) {
        loader.setTime({ kind: 'wall' });
        const error = loader.apply(argv);
        if (error !== undefined) throw cannotApply(disk, argv, error.message);
      },
    });
  } finally {
    loader.end();
  }
}

/**
 * A frame is applied as a whole, so that the borders of its groups do not matter. After a rewrite, a change of a key
 * that had another type before fails, and a later change in the same file replaces the key. Without its SELECT, a
 * command would change another database.
 */
function applyTo(loader: Loader, argv: readonly string[], disk: Disk): void {
  if (argv.length === 1 && (argv[0] === 'MULTI' || argv[0] === 'EXEC')) return;
  const error = loader.apply(argv);
  if (error === undefined || argv[0] !== 'SELECT') return;
  throw new LogError(
    'format',
    `the log in ${disk.path} uses database ${argv[1]}, which this server does not have. Start it with --databases ${Number(argv[1]) + 1} or more.`,
  );
}

/** Holdfast writes its own files after loading, so that data which cannot be loaded would be lost. */
function cannotApply({ path }: Disk, argv: readonly string[], message: string): LogError {
  const command = argv.slice(0, 2).join(' ').slice(0, MAX_SHOWN_CHARS);
  return new LogError(
    'format',
    `the log of Redis in ${path} has a command that Holdfast cannot load: ${command} (${message}). Nothing was changed. ` +
      'Remove such data on the Redis server, run BGREWRITEAOF there, and copy its folder again.',
  );
}

function tooLarge(bytes: number): LogError {
  return new LogError(
    'too-large',
    `the log holds more data than maxmemory allows, by ${Math.ceil(bytes / 2 ** 20)} MB or more. Start the server with a larger --maxmemory.`,
  );
}

const MAX_SHOWN_CHARS = 80;
/** Loaded data needs a little more memory than before. */
const MAX_EXCESS_BYTES = 64 * 2 ** 20;
