export { capacityFor, heapFor } from './heap-size.ts';
export { parseMemorySize } from './memory-size.ts';
