// The index of the search: one entry for each section. The page loads it when the reader searches.

/** `[path, id, title, heading, text]`, the text cut to a length that keeps the index small. */
export function searchIndex(pages) {
  return pages.flatMap(({ path, title, sections }) =>
    sections.map(({ id, heading, text }) => [path, id, title, heading, text.slice(0, MAX_TEXT)]),
  );
}

const MAX_TEXT = 1500;
