/** `holdfast/lab`: lock algorithms run through all interleavings. */
export * from '../lab/index.ts';
