/**
 * How far a provider's results may be from the CPU's before they are wrong: room for float16 and int8 activations, none for
 * an operator that errs. Figures only.
 */

/** Nats a token, in the mean over a text. */
export const LOSS_TOLERANCE = 0.05;

/** Attention mass of one recall slot, of 1. */
export const MASS_TOLERANCE = 0.01;
