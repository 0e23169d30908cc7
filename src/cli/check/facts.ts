import type { Clock } from '../../clock/index.ts';
import type { RunScript } from '../../stores/index.ts';

/** What a server tells of itself, and how far its clock is from the local one. */
export interface ServerFacts {
  readonly memory: InfoSection;
  readonly replication: InfoSection;
  readonly clock: ClockOffset;
}

/** A section of INFO, or the error that the server gave instead. */
export type InfoSection = { readonly text: string } | { readonly refusal: string };

export interface ClockOffset {
  /** The server's time minus the local time. */
  readonly offsetMs: number;
  /** The true offset differs by this much at most: half of the round trip. */
  readonly marginMs: number;
}

/** The first round trip also opens the connection; of the others the shortest tells most. */
const SAMPLES = 5;

export async function readFacts(run: RunScript, clock: Clock): Promise<ServerFacts> {
  const [memory, replication] = (await run(INFO_SCRIPT, [], [])) as [InfoReply, InfoReply];
  const offsets: ClockOffset[] = [];
  for (let sample = 0; sample < SAMPLES; sample++) offsets.push(await measureClock(run, clock));
  const best = offsets.reduce((one, other) => (other.marginMs < one.marginMs ? other : one));
  return { memory: sectionOf(memory), replication: sectionOf(replication), clock: best };
}

/** Text, and an error if there is no text. */
type InfoReply = [text: string, refusal: string];

function sectionOf([text, refusal]: InfoReply): InfoSection {
  return refusal === '' ? { text } : { refusal };
}

/** The server reads its clock between the request and the reply: half way, unless one way is slower. */
async function measureClock(run: RunScript, clock: Clock): Promise<ClockOffset> {
  const sentWallMs = clock.wallMs();
  const sentMs = clock.monotonicMs();
  const serverMs = Number(await run(TIME_SCRIPT, [], []));
  const marginMs = (clock.monotonicMs() - sentMs) / 2;
  return { offsetMs: serverMs - sentWallMs - marginMs, marginMs };
}

const INFO_SCRIPT = `
local function info(section)
  local reply = redis.pcall('INFO', section)
  if type(reply) == 'table' and reply.err then return { '', reply.err } end
  return { reply, '' }
end
return { info('memory'), info('replication') }
`;

const TIME_SCRIPT = `
local time = redis.call('TIME')
return time[1] .. string.sub('00000' .. time[2], -6, -4)
`;
