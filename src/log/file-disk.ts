import {
  closeSync,
  constants,
  fdatasync,
  fsync,
  fsyncSync,
  ftruncateSync,
  openSync,
  readdirSync,
  readSync,
  renameSync,
  rmSync,
  statSync,
  writevSync,
} from 'node:fs';
import { join } from 'node:path';
import { promisify } from 'node:util';
import type { Disk, DiskFile } from './disk.ts';

const syncData = promisify(fdatasync);
const syncAll = promisify(fsync);

/** A folder of the file system, which must exist. */
export function fileDisk(path: string): Disk {
  const at = (name: string): string => join(path, name);
  return {
    path,
    names: () => readdirSync(path),
    size: (name) => statSync(at(name)).size,
    read: (name, position, length) => read(at(name), position, length),
    create: (name) => new OpenFile(openSync(at(name), CREATE, 0o600)),
    cut: (name, length) => cut(at(name), length),
    rename: (from, to) => renameSync(at(from), at(to)),
    remove: (name) => rmSync(at(name), { force: true }),
    syncNames: () => syncFolder(path),
  };
}

const { O_WRONLY, O_APPEND, O_CREAT, O_EXCL } = constants;
const CREATE = O_WRONLY | O_APPEND | O_CREAT | O_EXCL;

/** Node counts the bytes of a call in 32 bits. */
const MAX_CALL_BYTES = 2 ** 30;

class OpenFile implements DiskFile {
  readonly #descriptor: number;
  #isOpen = true;

  constructor(descriptor: number) {
    this.#descriptor = descriptor;
  }

  write(parts: readonly Buffer[]): void {
    let left = parts.filter(({ length }) => length > 0);
    while (left.length > 0) {
      // The system may write a part only, for instance when the disk becomes full.
      const written = writevSync(this.#descriptor, firstBytes(left));
      left = without(left, written);
    }
  }

  cutTo(length: number): void {
    ftruncateSync(this.#descriptor, length);
  }

  sync(): Promise<void> {
    return syncData(this.#descriptor);
  }

  close(): void {
    if (this.#isOpen) closeSync(this.#descriptor);
    this.#isOpen = false;
  }
}

/** The begin of the parts, as much as one call may have. */
function firstBytes(parts: readonly Buffer[]): Buffer[] {
  let left = MAX_CALL_BYTES;
  const first: Buffer[] = [];
  for (const part of parts) {
    if (left > 0) first.push(part.subarray(0, left));
    left -= part.length;
  }
  return first;
}

function without(parts: readonly Buffer[], count: number): Buffer[] {
  let skip = count;
  const left: Buffer[] = [];
  for (const part of parts) {
    if (skip < part.length) left.push(part.subarray(skip));
    skip = Math.max(0, skip - part.length);
  }
  return left;
}

function read(path: string, position: number, length: number): Buffer {
  const descriptor = openSync(path, 'r');
  try {
    const bytes = Buffer.allocUnsafe(length);
    let count = 0;
    for (;;) {
      const most = Math.min(length - count, MAX_CALL_BYTES);
      const got = readSync(descriptor, bytes, count, most, position + count);
      count += got;
      if (got === 0 || count === length) return bytes.subarray(0, count);
    }
  } finally {
    closeSync(descriptor);
  }
}

function cut(path: string, length: number): void {
  const descriptor = openSync(path, 'r+');
  try {
    ftruncateSync(descriptor, length);
    fsyncSync(descriptor);
  } finally {
    closeSync(descriptor);
  }
}

/** Windows cannot sync a folder, and does not need to. */
async function syncFolder(path: string): Promise<void> {
  if (process.platform === 'win32') return;
  const descriptor = openSync(path, 'r');
  try {
    await syncAll(descriptor);
  } finally {
    closeSync(descriptor);
  }
}
