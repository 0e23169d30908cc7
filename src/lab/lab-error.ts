/** An invalid option, schedule or recipe. The message says what is wrong and what to write. */
export class LabError extends Error {
  override readonly name = 'LabError';
}
