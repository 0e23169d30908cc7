import { spend } from './budget.ts';
import { compilePrototype } from './compile/function.ts';
import { allocate } from './memory.ts';
import { MAX_SOURCE, parse } from './parse.ts';
import { resolve } from './resolve.ts';
import { LuaSyntaxError } from './syntax-error.ts';
import type { ChunkName } from './value.ts';
import { Closure } from './value.ts';

export interface CompiledChunk {
  readonly main: Closure;
  readonly seesGlobals: boolean;
  /** Approximate bytes that V8 uses for the source, its syntax tree and its closures. */
  readonly bytes: number;
}

/** Measured on sources of many kinds, and rounded up. */
const CHUNK_BYTES = 1024;
const NODE_BYTES = 700;

/** Compiles a chunk to its main function. Throws LuaSyntaxError. */
export function compileChunk(source: string, chunk: ChunkName): CompiledChunk {
  try {
    const resolution = resolve(parse(source, chunk.short), source, chunk.short);
    const { ast, main: scope, seesGlobals, nodeCount } = resolution;
    const prototype = compilePrototype({ resolution, scope, chunk }, ast.body);
    const bytes = CHUNK_BYTES + 2 * source.length + nodeCount * NODE_BYTES;
    return { main: new Closure(prototype, []), seesGlobals, bytes };
  } catch (thrown) {
    if (!(thrown instanceof RangeError)) throw thrown;
    throw new LuaSyntaxError(`${chunk.short}:1: chunk has too many syntax levels`);
  }
}

/** Bytes that V8 uses for a char of a source that consists of short tokens, measured, with what is compiled. */
const SOURCE_BYTES = 440;

/** Compiles a chunk at run time and charges it to the budget: compiling is much slower than running. */
export function loadChunk(source: string, name: string): Closure {
  spend(100 + source.length * 4);
  if (source.length <= MAX_SOURCE) allocate(source.length * SOURCE_BYTES);
  return compileChunk(source, { source: name, short: shortName(name) }).main;
}

/** The longest name that error positions show. */
const MAX_NAME = 79;
const MAX_FILE = 72;
const MAX_TEXT = 63;

/** How errors show a chunk's name: `=name` and `@file` as they are, source text in brackets. */
function shortName(name: string): string {
  const rest = name.slice(1);
  if (name[0] === '=') return rest.slice(0, MAX_NAME);
  if (name[0] === '@') {
    return rest.length > MAX_FILE ? `...${rest.slice(-MAX_FILE)}` : rest;
  }
  const line = /^[^\r\n]*/.exec(name)![0].slice(0, MAX_TEXT);
  return `[string "${line}${line.length < name.length ? '...' : ''}"]`;
}
