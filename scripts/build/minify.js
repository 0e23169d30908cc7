// Minifies a file of dist/.
import { minifySync, parseSync, Visitor } from 'rolldown/utils';

/** Modules that throw errors into the program of a user. */
const LIBRARY =
  /\/src\/(?:lock|stores\/(?!redis\/engine-runner)|client|cache|clock|testing|create-locks\.ts)/;

/**
 * Returns the short form of a file with the given modules. The engine, the lab and the command line become as short as
 * can be, except for class names, which loggers print. The library has a statement per line and keeps the names of its
 * functions: Node prints the whole line of an uncaught error, and stack traces name functions.
 */
export function minified(fileName, code, moduleIds) {
  return moduleIds.some((id) => LIBRARY.test(id))
    ? withLines(fileName, code, short(fileName, code, { function: true, compress: false }))
    : short(fileName, code, { function: false, compress: true });
}

function short(fileName, code, { function: keepsFunctions, compress }) {
  const keepNames = { class: true, function: keepsFunctions };
  return minifySync(fileName, code, {
    compress: compress && { keepNames },
    // The top level of a CommonJS file is a function's.
    mangle: { keepNames, toplevel: true },
    codegen: { removeWhitespace: true },
  }).code;
}

/** Begins a line with each statement and each class member, and restores private names, which the minifier always shortens. */
function withLines(fileName, long, code) {
  const before = positions(fileName, long);
  const { privateNames, lineStarts } = positions(fileName, code);
  if (before.privateNames.length !== privateNames.length) {
    throw new Error(
      `${fileName}: the minifier has changed more than names, so they cannot be restored`,
    );
  }
  const edits = [
    ...lineStarts.map((start) => ({ start, end: start, text: '\n' })),
    ...privateNames.map(({ start, end }, index) => {
      return { start, end, text: `#${before.privateNames[index].name}` };
    }),
  ].sort((a, b) => a.start - b.start || a.end - b.end);
  let end = 0;
  const parts = edits.map((edit) => {
    const part = code.slice(end, edit.start) + edit.text;
    end = edit.end;
    return part;
  });
  return `${parts.join('')}${code.slice(end)}`.trimStart();
}

function positions(fileName, code) {
  const privateNames = [];
  const lineStarts = [];
  const addLines = (nodes) => lineStarts.push(...nodes.map(({ start }) => start));
  new Visitor({
    PrivateIdentifier: (node) => privateNames.push(node),
    Program: ({ body }) => addLines(body),
    BlockStatement: ({ body }) => addLines(body),
    StaticBlock: ({ body }) => addLines(body),
    SwitchStatement: ({ cases }) => addLines(cases),
    SwitchCase: ({ consequent }) => addLines(consequent),
    ClassBody: ({ body }) => addLines(body),
  }).visit(parseSync(fileName, code).program);
  return { privateNames, lineStarts };
}
