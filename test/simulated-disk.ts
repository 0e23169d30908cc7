import type { Random } from '../src/clock/index.ts';
import type { Disk, DiskFile } from '../src/log/index.ts';

/** What a crash of the machine leaves of the bytes that were not synced. */
export type CrashKind =
  /** The process was killed: the operating system has everything. */
  | 'killed'
  | 'nothing'
  /** A part from the front. */
  | 'prefix'
  /** Some sectors of 512 bytes; the others are zeros. */
  | 'torn'
  /** Some of the writes; the others are zeros. */
  | 'reordered'
  /** As `nothing`, and one bit of the synced bytes is wrong. */
  | 'bit flip';

interface SimulatedFile {
  /** What the operating system has. */
  bytes: Buffer;
  /** The length that is on the disk, and the lengths after each write since then. */
  synced: number;
  writes: number[];
}

interface DiskFault {
  readonly kind: 'write' | 'sync' | 'sync names';
  readonly code: string;
  /** What a write that fails has written. */
  readonly partBytes?: number;
  /** These bytes cannot be cut. */
  readonly failsCut?: boolean;
  /** Only files whose names have this text. */
  readonly name?: string;
}

type NameChange =
  | { readonly kind: 'add'; readonly name: string; readonly file: SimulatedFile }
  | { readonly kind: 'rename'; readonly from: string; readonly to: string }
  | { readonly kind: 'remove'; readonly name: string };

/**
 * A folder in memory that knows what the disk has and what only the operating system has. `crash` returns the
 * folder as it may be after a crash. `onStep` is called after every change.
 */
export class SimulatedDisk implements Disk {
  readonly path = 'simulated';
  onStep: (step: string) => void = () => {};
  /** How long a sync takes. */
  wait: () => Promise<void> = () => Promise.resolve();
  /** Makes the next calls of a kind fail. */
  fault: DiskFault | undefined;
  /** Files that were created and not closed. */
  openFiles = 0;
  #names = new Map<string, SimulatedFile>();
  #syncedNames = new Map<string, SimulatedFile>();
  #nameChanges: NameChange[] = [];

  names(): string[] {
    return [...this.#names.keys()];
  }

  size(name: string): number {
    return this.#file(name).bytes.length;
  }

  read(name: string, position: number, length: number): Buffer {
    return this.#file(name).bytes.subarray(position, position + length);
  }

  create(name: string): DiskFile {
    if (this.#names.has(name)) throw new Error(`EEXIST: ${name}`);
    const file: SimulatedFile = { bytes: Buffer.alloc(0), synced: 0, writes: [] };
    this.#names.set(name, file);
    this.#changeName({ kind: 'add', name, file }, `create ${name}`);
    return this.#open(name, file);
  }

  cut(name: string, length: number): void {
    const file = this.#file(name);
    file.bytes = file.bytes.subarray(0, length);
    file.synced = length;
    file.writes = [];
    this.onStep(`cut ${name}`);
  }

  rename(from: string, to: string): void {
    const file = this.#file(from);
    this.#names.delete(from);
    this.#names.set(to, file);
    this.#changeName({ kind: 'rename', from, to }, `rename ${from}`);
  }

  remove(name: string): void {
    if (!this.#names.delete(name)) return;
    this.#changeName({ kind: 'remove', name }, `remove ${name}`);
  }

  async syncNames(): Promise<void> {
    const count = this.#nameChanges.length;
    await this.wait();
    this.#failIf('sync names', '');
    for (const change of this.#nameChanges.splice(0, count)) apply(this.#syncedNames, change);
    this.onStep('sync names');
  }

  /**
   * The folder after a crash: another disk. If only the process was killed, the disk still lacks what it lacked before; else
   * everything that is left is synced.
   */
  crash(kind: CrashKind, random: Random): SimulatedDisk {
    if (kind === 'killed') return this.#copy();
    const names = this.#namesAfterCrash(random);
    const disk = new SimulatedDisk();
    for (const [name, file] of names) {
      const bytes = bytesAfterCrash(file, kind, random);
      const copy = { bytes, synced: bytes.length, writes: [] };
      disk.#names.set(name, copy);
      disk.#syncedNames.set(name, copy);
    }
    if (kind === 'bit flip') disk.flipBit(random);
    return disk;
  }

  flipBit(random: Random): void {
    const files = [...this.#names.values()].filter(({ bytes }) => bytes.length > 0);
    const file = files[Math.floor(random.next() * files.length)];
    if (file === undefined) return;
    file.bytes = Buffer.from(file.bytes);
    const at = Math.floor(random.next() * file.bytes.length);
    file.bytes[at]! ^= 1 << Math.floor(random.next() * 8);
  }

  flip(name: string, at: number): void {
    const file = this.#file(name);
    file.bytes = Buffer.from(file.bytes);
    file.bytes[at]! ^= 1;
  }

  #copy(): SimulatedDisk {
    const disk = new SimulatedDisk();
    const copies = new Map<SimulatedFile, SimulatedFile>();
    const copyOf = (file: SimulatedFile): SimulatedFile => {
      const copy = copies.get(file) ?? { ...file, writes: [...file.writes] };
      copies.set(file, copy);
      return copy;
    };
    for (const [name, file] of this.#names) disk.#names.set(name, copyOf(file));
    for (const [name, file] of this.#syncedNames) disk.#syncedNames.set(name, copyOf(file));
    disk.#nameChanges = this.#nameChanges.map((change) =>
      change.kind === 'add' ? { ...change, file: copyOf(change.file) } : change,
    );
    return disk;
  }

  /** Each change of a name that was not synced has happened or not; a later one needs its earlier ones. */
  #namesAfterCrash(random: Random): Map<string, SimulatedFile> {
    const names = new Map(this.#syncedNames);
    for (const change of this.#nameChanges) if (random.next() < 0.5) apply(names, change);
    return names;
  }

  #open(name: string, file: SimulatedFile): DiskFile {
    let isOpen = true;
    this.openFiles++;
    const checkOpen = (): void => {
      if (!isOpen) throw failure('EBADF');
    };
    return {
      write: (parts) => {
        checkOpen();
        this.#write(name, file, Buffer.concat(parts));
      },
      cutTo: (length) => {
        checkOpen();
        if (this.fault?.failsCut) throw failure(this.fault.code);
        file.bytes = file.bytes.subarray(0, length);
        file.synced = Math.min(file.synced, length);
        file.writes = file.writes.filter((end) => end <= length);
      },
      sync: async () => {
        checkOpen();
        const { length } = file.bytes;
        await this.wait();
        this.#failIf('sync', name);
        file.synced = Math.max(file.synced, length);
        file.writes = file.writes.filter((end) => end > length);
        this.onStep(`sync ${name}`);
      },
      close: () => {
        if (isOpen) this.openFiles--;
        isOpen = false;
      },
    };
  }

  #write(name: string, file: SimulatedFile, bytes: Buffer): void {
    try {
      this.#failIf('write', name);
    } catch (error) {
      file.bytes = Buffer.concat([file.bytes, bytes.subarray(0, this.fault?.partBytes ?? 0)]);
      throw error;
    }
    file.bytes = Buffer.concat([file.bytes, bytes]);
    file.writes.push(file.bytes.length);
    this.onStep(`write ${name}`);
  }

  #failIf(kind: DiskFault['kind'], name: string): void {
    const { fault } = this;
    if (fault?.kind === kind && name.includes(fault.name ?? '')) throw failure(fault.code);
  }

  #changeName(change: NameChange, step: string): void {
    this.#nameChanges.push(change);
    this.onStep(step);
  }

  #file(name: string): SimulatedFile {
    const file = this.#names.get(name);
    if (file === undefined) throw new Error(`ENOENT: ${name}`);
    return file;
  }
}

function apply(names: Map<string, SimulatedFile>, change: NameChange): void {
  switch (change.kind) {
    case 'add':
      names.set(change.name, change.file);
      break;
    case 'remove':
      names.delete(change.name);
      break;
    case 'rename': {
      const file = names.get(change.from);
      if (file === undefined) return;
      names.delete(change.from);
      names.set(change.to, file);
    }
  }
}

function bytesAfterCrash(
  { bytes, synced, writes }: SimulatedFile,
  kind: CrashKind,
  random: Random,
): Buffer {
  switch (kind) {
    case 'killed':
      return bytes;
    case 'nothing':
    case 'bit flip':
      return bytes.subarray(0, synced);
    case 'prefix':
      return bytes.subarray(0, synced + Math.floor(random.next() * (bytes.length - synced + 1)));
    case 'torn': {
      const copy = Buffer.from(bytes);
      for (let at = synced; at < copy.length; at = (Math.floor(at / SECTOR) + 1) * SECTOR) {
        const end = Math.min((Math.floor(at / SECTOR) + 1) * SECTOR, copy.length);
        if (random.next() < 0.5) copy.fill(0, at, end);
      }
      return copy;
    }
    case 'reordered': {
      const copy = Buffer.from(bytes);
      let begin = synced;
      for (const end of writes) {
        if (random.next() < 0.5) copy.fill(0, begin, end);
        begin = Math.max(begin, end);
      }
      return copy;
    }
  }
}

function failure(code: string): Error {
  return Object.assign(new Error(`${code}: simulated`), { code });
}

const SECTOR = 512;
