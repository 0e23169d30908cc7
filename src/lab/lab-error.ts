/** A wish that the lab cannot fulfil, in words for the person who made it. */
export class LabError extends Error {
  override readonly name = 'LabError';
}
