import type { Clock } from '../../clock/index.ts';
import type { RunScript } from '../../stores/index.ts';

/** The settings that a server reports, and the offset of its clock from the local one. */
export interface ServerFacts {
  readonly memory: InfoSection;
  readonly replication: InfoSection;
  /** CLUSTER INFO; empty if the server is not in a cluster. */
  readonly cluster: InfoSection;
  readonly clock: ClockOffset;
}

/** A section of INFO, or the error that the server gave instead. */
export type InfoSection = { readonly text: string } | { readonly refusal: string };

export interface ClockOffset {
  /** The server's time minus the local time. */
  readonly offsetMs: number;
  /** Maximum error of the offset: half of the round trip. */
  readonly marginMs: number;
}

/** The first round trip also opens the connection; of the others the shortest is the most exact. */
const SAMPLES = 5;

export async function readFacts(run: RunScript, clock: Clock): Promise<ServerFacts> {
  const [memory, replication, cluster] = (await run(INFO_SCRIPT, [], [])) as InfoReply[];
  const offsets: ClockOffset[] = [];
  for (let sample = 0; sample < SAMPLES; sample++) offsets.push(await measureClock(run, clock));
  const best = offsets.reduce((one, other) => (other.marginMs < one.marginMs ? other : one));
  return {
    memory: sectionOf(memory),
    replication: sectionOf(replication),
    cluster: sectionOf(cluster),
    clock: best,
  };
}

/** Text, and an error if there is no text. */
type InfoReply = [text: string, refusal: string];

function sectionOf(reply: InfoReply | undefined): InfoSection {
  if (reply === undefined) throw new Error('a section of INFO is missing');
  const [text, refusal] = reply;
  return refusal === '' ? { text } : { refusal };
}

/** The server reads its clock between the request and the reply: half way, unless one way is slower. */
async function measureClock(run: RunScript, clock: Clock): Promise<ClockOffset> {
  const sentWallMs = clock.wallMs();
  const sentMs = clock.monotonicMs();
  const time = await run(TIME_SCRIPT, [], []);
  const marginMs = (clock.monotonicMs() - sentMs) / 2;
  if (typeof time !== 'string' || !/^\d{1,15}$/.test(time))
    throw new Error('the time is no number');
  return { offsetMs: Number(time) - sentWallMs - marginMs, marginMs };
}

const INFO_SCRIPT = `
local function page(...)
  local reply = redis.pcall(...)
  if type(reply) == 'table' then return { '', reply.err or 'no text' } end
  return { reply, '' }
end
local cluster = { '', '' }
if string.find(page('INFO', 'cluster')[1], 'cluster_enabled:1', 1, true) then cluster = page('CLUSTER', 'INFO') end
return { page('INFO', 'memory'), page('INFO', 'replication'), cluster }
`;

const TIME_SCRIPT = `
local time = redis.call('TIME')
return time[1] .. string.sub('00000' .. time[2], -6, -4)
`;
