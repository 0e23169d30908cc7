import type { Random } from '../clock/index.ts';
import type { Boot } from './boot.ts';
import type { Disk, DiskFile } from './disk.ts';
import { LogError } from './errors.ts';
import { printFileLine } from './frame.ts';
import {
  fileNames,
  type LogFileName,
  lastSequence,
  type Manifest,
  printManifest,
} from './manifest.ts';

/** A new file of the log, with its first line. */
export interface NewFile {
  readonly name: LogFileName;
  readonly file: DiskFile;
  /** A random number: the CRCs of its frames begin with it. */
  readonly id: number;
  /** The length of the first line. */
  readonly lineBytes: number;
}

export const MANIFEST = 'appendonly.aof.manifest';
const TEMPORARY = 'temp-manifest';

/** The files of a log, and the manifest that names those in use. */
export class LogFiles {
  readonly #disk: Disk;
  readonly #boot: Boot;
  readonly #random: Random;
  #manifest: Manifest;

  constructor(disk: Disk, boot: Boot, random: Random, manifest: Manifest) {
    this.#disk = disk;
    this.#boot = boot;
    this.#random = random;
    this.#manifest = manifest;
  }

  get manifest(): Manifest {
    return this.#manifest;
  }

  /** The bytes of the base file, and of all files in use. */
  sizes(): { readonly base: number; readonly all: number } {
    const { base } = this.#manifest;
    const size = (name: string): number => this.#disk.size(name);
    const all = fileNames(this.#manifest).reduce((sum, name) => sum + size(name), 0);
    return { base: base === undefined ? 0 : size(base.name), all };
  }

  /** Creates the next increment and adds it to the manifest. Nothing is written to it yet. */
  async addIncrement(): Promise<NewFile> {
    const created = this.#create('incr', 0);
    const { name, file } = created;
    try {
      await file.sync();
      const { base, increments } = this.#manifest;
      await this.#saveManifest({ base, increments: [...increments, name] });
    } catch (error) {
      file.close();
      // The manifest names it if only the sync of the folder has failed.
      if (!this.#manifest.increments.includes(name)) this.#disk.remove(name.name);
      throw error;
    }
    return created;
  }

  /** Creates a base file. `next` is the number of the first frame that is not part of it. */
  createBase(next: number): NewFile {
    return this.#create('base', next);
  }

  /** Makes a base file that is on the disk the first file. The increments before `first` are not needed any more. */
  async useBase(base: LogFileName, first: LogFileName): Promise<void> {
    const { increments } = this.#manifest;
    const at = increments.findIndex(({ name }) => name === first.name);
    await this.#saveManifest({ base, increments: increments.slice(at) });
    this.removeUnused();
    await this.#disk.syncNames();
  }

  /** Closes and removes a base file, unless the manifest names it. */
  dropBase({ name, file }: NewFile): void {
    file.close();
    if (this.#manifest.base?.name !== name.name) this.#disk.remove(name.name);
  }

  /** Removes files of the log that the manifest does not name. */
  removeUnused(): void {
    const used = new Set(fileNames(this.#manifest));
    for (const name of this.#disk.names()) {
      if (sequenceOf(name) !== undefined && !used.has(name)) this.#disk.remove(name);
    }
  }

  #create(kind: 'base' | 'incr', next: number): NewFile {
    const name = this.#nextName(kind);
    const id = Buffer.from(this.#random.bytes(4)).readUInt32BE();
    const line = printFileLine({ id, next, bootId: this.#boot.id });
    const file = this.#disk.create(name.name);
    try {
      file.write([Buffer.from(line, 'latin1')]);
    } catch (error) {
      file.close();
      this.#disk.remove(name.name);
      throw error;
    }
    return { name, file, id, lineBytes: line.length };
  }

  /** The rename makes the change. The disk has the names of new files before, and the manifest after. */
  async #saveManifest(manifest: Manifest): Promise<void> {
    const disk = this.#disk;
    disk.remove(TEMPORARY);
    const file = disk.create(TEMPORARY);
    try {
      file.write([Buffer.from(printManifest(manifest), 'latin1')]);
      await file.sync();
    } finally {
      file.close();
    }
    await disk.syncNames();
    disk.rename(TEMPORARY, MANIFEST);
    this.#manifest = manifest;
    await disk.syncNames();
  }

  #nextName(kind: 'base' | 'incr'): LogFileName {
    const taken = this.#disk.names().map((name) => sequenceOf(name) ?? 0);
    const last = Math.max(lastSequence(this.#manifest), ...taken);
    if (last >= MAX_SEQUENCE) throw noSequence(this.#disk, last);
    const sequence = last + 1;
    return { name: `appendonly.aof.${sequence}.${kind}.aof`, sequence };
  }
}

/** The number in the name of a file of the log, of one kind or of both; undefined for other names. */
export function sequenceOf(name: string, kind = 'base|incr'): number | undefined {
  const found = LOG_FILE.exec(name);
  return found !== null && kind.includes(found[2]!) ? Number(found[1]) : undefined;
}

const LOG_FILE = /^appendonly\.aof\.(\d{1,15})\.(base|incr)\.aof$/;
/** The highest number that a manifest may have. */
const MAX_SEQUENCE = 10 ** 15 - 1;

/** The next start could not read the manifest. */
function noSequence({ path }: Disk, last: number): LogError {
  return new LogError(
    'damaged',
    `a file in ${path} has a sequence number that no server reaches: ${last}, the last one. Restore the folder from a backup.`,
  );
}
