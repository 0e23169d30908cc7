// What several attacks have in common.
import { request } from './wire.js';

export const MIB = 1024 * 1024;
export const GIB = 1024 * MIB;

const BATCH_BYTES = MIB;
const BATCH_REQUESTS = 5000;

export function text(bytes, character = 'x') {
  return Buffer.alloc(bytes, character);
}

export function range(count, value = (index) => index) {
  return Array.from({ length: count }, (_, index) => value(index));
}

/**
 * Sends `args(0)`, `args(1)` and so on, in batches whose replies are read, until the server refuses one,
 * closes the client, or a limit is reached. Returns how many were sent.
 */
export async function flood(context, client, args, { requests = Infinity, bytes = 2 * GIB } = {}) {
  const firstErrors = client.errors;
  let sent = 0;
  let sentBytes = 0;
  while (sent < requests && sentBytes < bytes) {
    if (context.isOver || client.isClosed || client.errors > firstErrors) break;
    const batch = encodeBatch(args, sent, requests);
    sent += batch.count;
    sentBytes += batch.bytes.length;
    await client.sendEncoded(batch.bytes, batch.count);
    await client.receiveAll();
  }
  return sent;
}

function encodeBatch(args, first, end) {
  const parts = [];
  let length = 0;
  let count = 0;
  while (length < BATCH_BYTES && count < BATCH_REQUESTS && first + count < end) {
    const part = encode(args(first + count));
    parts.push(part);
    length += part.length;
    count += 1;
  }
  const isText = parts.every((part) => typeof part === 'string');
  const bytes = isText
    ? Buffer.from(parts.join(''), 'latin1')
    : Buffer.concat(parts.map((part) => Buffer.from(part)));
  return { bytes, count };
}

/** Requests without a Buffer are joined as text, which is several times faster. */
function encode(args) {
  if (args.some((arg) => Buffer.isBuffer(arg))) return request(...args);
  let encoded = `*${args.length}\r\n`;
  for (const arg of args) {
    const word = String(arg);
    encoded += `$${word.length}\r\n${word}\r\n`;
  }
  return encoded;
}

/** One request of `count` args that are made as they are sent, so that it needs no memory here. */
export async function streamRequest(client, first, count, arg) {
  await client.write(Buffer.from(`*${first.length + count}\r\n`));
  await client.write(request(...first).subarray(`*${first.length}\r\n`.length));
  const perChunk = 20_000;
  for (let sent = 0; sent < count && !client.isClosed; sent += perChunk) {
    const args = range(Math.min(perChunk, count - sent), (index) => arg(sent + index));
    await client.write(Buffer.from(args.map((word) => `$${word.length}\r\n${word}\r\n`).join('')));
  }
}

/** The slowest requests of an attack that sends one after the other. */
export class Slowest {
  #worst = { ms: 0, label: '' };

  async time(label, work) {
    const startMs = performance.now();
    const result = await work();
    const ms = performance.now() - startMs;
    if (ms > this.#worst.ms) this.#worst = { ms, label };
    return result;
  }

  toString() {
    return `slowest request: ${this.#worst.label} (${Math.round(this.#worst.ms)} ms)`;
  }
}
