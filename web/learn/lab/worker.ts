import { Terminal } from '../tutorial/terminal.ts';
import { faultOf, runSchedule, searchAll } from './laboratory.ts';
import type { Answer, Request } from './messages.ts';

// The lab and the engine, away from the page's thread. A search occupies its worker until it ends.
const scope = globalThis as unknown as {
  onmessage: (event: { readonly data: Request }) => void;
  postMessage: (answer: Answer) => void;
};
let terminal: Terminal | undefined;

scope.onmessage = ({ data }) => {
  const { id } = data;
  try {
    scope.postMessage({ id, kind: 'done', result: resultOf(data) });
  } catch (error) {
    scope.postMessage({ id, kind: 'failed', fault: faultOf(error) });
  }
};

function resultOf(request: Request): unknown {
  switch (request.kind) {
    case 'replay':
      return runSchedule(request.source, request.world, request.schedule);
    case 'search':
      return searchAll(request.source, request.world, (states, seconds) =>
        scope.postMessage({ id: request.id, kind: 'progress', states, seconds }),
      );
    case 'command':
      terminal ??= new Terminal();
      return terminal.run(request.client, request.line);
    case 'wait':
      terminal ??= new Terminal();
      return terminal.wait(request.durationMs);
    case 'clear':
      terminal?.close();
      terminal = undefined;
      return [];
  }
}
