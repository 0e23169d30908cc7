import { describe, expect, it } from 'vitest';
import { HistoryReader, ReplyTooLargeError } from './lock-history.ts';

type Raw = [number, number, string, string, string, number];

function raw(id: number, type = 'granted', key = 'lock:{a}'): Raw {
  return [id, id * 10, type, key, 'token', 0];
}

/** A server that has these events. `maxReply` limits the size of a reply. */
function serverOf(events: Raw[], maxReply = Number.POSITIVE_INFINITY) {
  const counts: number[] = [];
  const send = async (argv: readonly string[]): Promise<Raw[]> => {
    const option = (name: string): number => Number(argv[argv.indexOf(name) + 1]);
    const count = option('COUNT');
    counts.push(count);
    const found = argv.includes('AFTER')
      ? events.filter(([id]) => id > option('AFTER')).slice(0, count)
      : events.slice(-count);
    if (found.length > maxReply) throw new ReplyTooLargeError('too large');
    return found;
  };
  return { counts, reader: new HistoryReader(send) };
}

describe('HistoryReader', () => {
  it('reads the newest events first, then those that are new', async () => {
    const events = [raw(7), raw(8)];
    const { reader } = serverOf(events);
    expect((await reader.next()).events.map(({ id }) => id)).toEqual([7, 8]);
    expect(await reader.next()).toEqual({ events: [], missed: 0, isReset: false });
    events.push(raw(9));
    expect(await reader.next()).toMatchObject({ events: [{ id: 9 }], missed: 0 });
  });

  it('says how many events were dropped before it read them', async () => {
    const events = [raw(1)];
    const { reader } = serverOf(events);
    await reader.next();
    events.splice(0, 1, raw(5), raw(6));
    expect(await reader.next()).toMatchObject({ missed: 3 });
  });

  it('computes durations across reads', async () => {
    const events = [raw(1, 'waiting'), raw(2, 'handed-over')];
    const { reader } = serverOf(events);
    expect((await reader.next()).events[1]).toMatchObject({ waitedMs: 10 });
    events.push(raw(5, 'released'));
    expect((await reader.next()).events[0]).toMatchObject({ heldMs: 30 });
  });

  it('begins again after a restart of the server', async () => {
    const events = [raw(100)];
    const { reader } = serverOf(events);
    await reader.next();
    events.splice(0, 1, raw(1));
    expect(await reader.next()).toMatchObject({ events: [{ id: 1 }], isReset: true, missed: 0 });
    expect(await reader.next()).toMatchObject({ events: [], isReset: false });
  });

  it('reads a reply that is too large in smaller parts, then in larger ones again', async () => {
    const events = Array.from({ length: 100 }, (_, index) => raw(index + 1));
    const { reader, counts } = serverOf(events, 40);
    const { events: first } = await reader.next();
    expect(first.at(-1)!.id).toBe(100);
    expect(counts).toEqual([10_000, 2500, 625, 157, 40]);
    events.push(raw(101));
    await reader.next();
    expect(counts.at(-1)).toBe(80);
  });

  it('leaves out keys that are no locks', async () => {
    const { reader } = serverOf([raw(1, 'granted', 'other'), raw(2)]);
    expect((await reader.next()).events.map(({ id }) => id)).toEqual([2]);
  });

  it('reads at most 1,000 events after the first time, then continues with the newest', async () => {
    const all = Array.from({ length: 20 }, (_, index) => raw(index + 1));
    const { reader } = serverOf(all);
    await reader.next();
    for (let id = 21; id <= 5020; id++) all.push(raw(id));
    const full = await reader.next();
    expect([full.events.length, full.events[0]!.id, full.missed]).toEqual([1000, 21, 0]);
    const newest = await reader.next();
    expect([newest.events.length, newest.events[0]!.id, newest.missed]).toEqual([1000, 4021, 3000]);
    expect(await reader.next()).toMatchObject({ events: [], missed: 0 });
  });
});
