import { LabError } from '../lab-error.ts';
import type { Text } from '../recipe.ts';
import { SCENES, type Scene } from './scenes.ts';
import { type Answered, type SceneEvent, StampedeWorld } from './stampede-world.ts';

export interface StampedeOptions {
  /** The number of clients that request the entry at the same moment. Default 200. */
  readonly clients?: number;
  /** The number of loads that the database runs at once; further loads are queued. Default 10. */
  readonly databaseSlots?: number;
}

/** The result of one way to refresh an expired entry. */
export interface StampedeRun {
  readonly name: string;
  readonly about: Text;
  /** The number of loads that clients requested from the database. */
  readonly loads: number;
  /** Of the clients at the start: how many got which value, still wait, or crashed first. */
  readonly answers: Answers;
  /** When the last client got its value. Null if none did. */
  readonly lastAnswerMs: number | null;
  /** When the new value was first available. Null if it never was. */
  readonly refreshedMs: number | null;
  /** The value that a client gets which requests the entry half a minute later. */
  readonly later: Answered | 'none';
  /** Events in order. Equal events in a row are one entry. */
  readonly timeline: readonly TimelineEntry[];
}

interface Answers {
  readonly new: number;
  readonly old: number;
  readonly none: number;
  readonly died: number;
}

export interface TimelineEntry {
  readonly kind: SceneEvent['kind'];
  readonly fromMs: number;
  readonly toMs: number;
  readonly count: number;
}

export interface Stampede {
  readonly clients: number;
  readonly databaseSlots: number;
  readonly loadMs: number;
  readonly laterMs: number;
  readonly runs: readonly StampedeRun[];
}

const LOAD_MS = 1000;
/** Another client requests the entry this much later. The run then lasts `WATCH_MS`, or until the database is idle. */
const LATER_MS = 30_000;
const WATCH_MS = 10_000;
const LIMITS = { clients: 1000, databaseSlots: 1000 } as const;

/**
 * Simulates many clients that request one expired cache entry at the same moment: without a lock, with a
 * SETNX lock, and with `locks.cache`. It runs the real engine and the real cache on virtual time, so the
 * figures are the same on every machine.
 *
 * @throws LabError if an option is out of range.
 */
export async function stampede(options: StampedeOptions = {}): Promise<Stampede> {
  const { clients = 200, databaseSlots = 10 } = options;
  checkRange('clients', clients);
  checkRange('databaseSlots', databaseSlots);
  const runs: StampedeRun[] = [];
  for (const scene of SCENES) runs.push(await play(scene, clients, databaseSlots));
  return { clients, databaseSlots, loadMs: LOAD_MS, laterMs: LATER_MS, runs };
}

function checkRange(name: keyof typeof LIMITS, value: number): void {
  const most = LIMITS[name];
  if (Number.isInteger(value) && value >= 1 && value <= most) return;
  throw new LabError(`${name} must be a whole number from 1 to ${most}, not ${value}`);
}

async function play(scene: Scene, clients: number, databaseSlots: number): Promise<StampedeRun> {
  const world = new StampedeWorld({ databaseSlots, loadMs: LOAD_MS, loaderDies: scene.loaderDies });
  await scene.prepare(world);
  world.begin();
  for (let client = 1; client <= clients; client++) world.visit(client, 'ask', scene.visit);
  await world.runUntil(LATER_MS);
  world.visit(clients + 1, 'ask-later', scene.visit);
  await world.runUntil(LATER_MS + WATCH_MS);
  while (!world.isQuiet) await world.runUntil(world.nowMs + LOAD_MS);
  const { name, about } = scene;
  const events = [...world.events];
  return { name, about, ...outcome(events, clients), timeline: timelineOf(events, world) };
}

type Outcome = Pick<StampedeRun, 'loads' | 'answers' | 'lastAnswerMs' | 'refreshedMs' | 'later'>;

function outcome(events: readonly SceneEvent[], clients: number): Outcome {
  const first = events.filter(({ client }) => client <= clients);
  const count = (kind: SceneEvent['kind']): number =>
    first.filter((event) => event.kind === kind).length;
  const [fresh, old, died] = [count('new'), count('old'), diedIn(first)];
  const last = first.findLast(isAnswer);
  const later = events.find((event) => event.client > clients && isAnswer(event));
  return {
    loads: events.filter(({ kind }) => kind === 'load').length,
    answers: { new: fresh, old, none: clients - fresh - old - died, died },
    lastAnswerMs: last?.atMs ?? null,
    refreshedMs: events.find(({ kind }) => kind === 'refreshed')?.atMs ?? null,
    later: (later?.kind as Answered | undefined) ?? 'none',
  };
}

/** The number of clients that crashed before they got a value. A background refresh may crash after that. */
function diedIn(events: readonly SceneEvent[]): number {
  const answered = new Set(events.filter(isAnswer).map(({ client }) => client));
  return events.filter(({ kind, client }) => kind === 'crash' && !answered.has(client)).length;
}

function isAnswer({ kind }: SceneEvent): boolean {
  return kind === 'new' || kind === 'old';
}

function timelineOf(events: readonly SceneEvent[], world: StampedeWorld): TimelineEntry[] {
  const entries: TimelineEntry[] = [];
  for (const { kind, atMs } of events) {
    const last = entries.at(-1);
    if (last?.kind !== kind) entries.push({ kind, fromMs: atMs, toMs: atMs, count: 1 });
    else entries.splice(-1, 1, { ...last, toMs: atMs, count: last.count + 1 });
  }
  const atMs = world.nowMs;
  const waiting = world.unanswered;
  if (waiting > 0) entries.push({ kind: 'none', fromMs: atMs, toMs: atMs, count: waiting });
  if (world.isLocked) entries.push({ kind: 'locked', fromMs: atMs, toMs: atMs, count: 1 });
  return entries;
}
