/**
 * Ids that are not words', and the first that is one's.
 *
 * @module
 */

/** Id of padding in a classification corpus. */
export const paddingId = 0;
/** Id of every word outside the vocabulary. */
export const unknownId = 1;
/** Id of the most frequent word. */
export const firstWordId = 2;
