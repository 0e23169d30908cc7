import { linkSync, mkdtempSync, readdirSync, rmSync, unlinkSync } from 'node:fs';
import { createServer, type Server } from 'node:net';
import { join } from 'node:path';
import { describe, expect, it, onTestFinished } from 'vitest';
import { hasEnded, highestNumber, markEnd, socketOf, takePlace, temporarySocket } from './place.ts';

function newFolder(): string {
  const folder = mkdtempSync('/tmp/holdfast-place-');
  onTestFinished(() => rmSync(folder, { recursive: true }));
  return folder;
}

/** A server that listens on a socket. Closing it leaves the names that were linked to the socket. */
async function listen(path: string): Promise<Server> {
  const server = createServer((socket) => socket.destroy());
  await new Promise<void>((resolve) => server.listen(path, resolve));
  onTestFinished(() => {
    if (server.listening) server.close();
  });
  return server;
}

async function candidate(folder: string): Promise<{ temporary: string; server: Server }> {
  const temporary = temporarySocket(folder);
  return { temporary, server: await listen(temporary) };
}

/** A dead server that had a place. */
async function dead(folder: string): Promise<void> {
  const { temporary, server } = await candidate(folder);
  await takePlace(folder, temporary);
  await new Promise((resolve) => server.close(resolve));
}

describe('a place', () => {
  it('has the number 1 in an empty folder', async () => {
    const folder = newFolder();
    const { temporary } = await candidate(folder);
    expect(highestNumber(folder)).toBe(0);
    expect(await takePlace(folder, temporary)).toEqual({ number: 1, isFresh: true });
    expect(readdirSync(folder)).toEqual(['server-1.sock']);
  });

  it('has at least the given number', async () => {
    const folder = newFolder();
    const { temporary } = await candidate(folder);
    expect(await takePlace(folder, temporary, 5)).toEqual({ number: 5, isFresh: true });
    expect(readdirSync(folder)).toEqual(['server-5.sock']);
    const late = await candidate(folder);
    expect(await takePlace(folder, late.temporary, 7)).toBe(undefined);
    expect(highestNumber(folder)).toBe(5);
  });

  it('is refused while another server serves', async () => {
    const folder = newFolder();
    const first = await candidate(folder);
    const second = await candidate(folder);
    await takePlace(folder, first.temporary);
    expect(await takePlace(folder, second.temporary)).toBe(undefined);
    expect(readdirSync(folder)).toEqual(['server-1.sock']);
  });

  it('after a server that died is not fresh: its holders may not have noticed', async () => {
    const folder = newFolder();
    await dead(folder);
    const { temporary } = await candidate(folder);
    expect(await takePlace(folder, temporary)).toEqual({ number: 2, isFresh: false });
    expect(readdirSync(folder)).toEqual(['server-2.sock']);
  });

  it('after a server that left the end mark is fresh', async () => {
    const folder = newFolder();
    await dead(folder);
    expect(hasEnded(folder, 1)).toBe(false);
    markEnd(folder, 1);
    expect(hasEnded(folder, 1)).toBe(true);
    const { temporary } = await candidate(folder);
    expect(await takePlace(folder, temporary)).toEqual({ number: 2, isFresh: true });
    expect(readdirSync(folder)).toEqual(['server-2.sock']);
  });

  it('goes to one of many servers', async () => {
    const folder = newFolder();
    await dead(folder);
    const many = await Promise.all(Array.from({ length: 20 }, () => candidate(folder)));
    const taken = await Promise.all(many.map(({ temporary }) => takePlace(folder, temporary)));
    expect(taken.filter((each) => each !== undefined)).toEqual([{ number: 2, isFresh: false }]);
  });

  it('is given up by a server that was overtaken between check and link', async () => {
    const folder = newFolder();
    await dead(folder);
    const late = await candidate(folder);
    const winner = await candidate(folder);
    // It has found that 1 is the highest, and connects to it; meanwhile 2 was created and removed, and 3 serves.
    const taking = takePlace(folder, late.temporary);
    linkSync(winner.temporary, socketOf(folder, 3));
    expect(await taking).toBe(undefined);
    expect(readdirSync(folder)).not.toContain('server-2.sock');
    expect(highestNumber(folder)).toBe(3);
  });

  it('is taken in a second attempt when the server that overtook it is dead too', async () => {
    const folder = newFolder();
    await dead(folder);
    const late = await candidate(folder);
    const winner = await candidate(folder);
    linkSync(winner.temporary, join(folder, 'kept'));
    await new Promise((resolve) => winner.server.close(resolve));
    const taking = takePlace(folder, late.temporary);
    linkSync(join(folder, 'kept'), socketOf(folder, 3));
    expect(await taking).toEqual({ number: 4, isFresh: false });
  });

  it('is refused when the temporary socket was removed', async () => {
    const folder = newFolder();
    await dead(folder);
    const { temporary } = await candidate(folder);
    const taking = takePlace(folder, temporary);
    unlinkSync(temporary);
    expect(await taking).toBe(undefined);
  });

  it('has the number 10 after 9', async () => {
    const folder = newFolder();
    for (let count = 0; count < 10; count++) await dead(folder);
    expect(highestNumber(folder)).toBe(10);
    expect(readdirSync(folder)).toEqual(['server-10.sock']);
  });
});
