/** Adam (Kingma and Ba, 2015) with decoupled weight decay, over the fitted values. Never computes a gradient. */
import { PARAMETERS, zerosLike } from './fit-parameters.js';
import type { FitParameters } from './fit-parameters.js';

const DECAY_OF_MEAN = 0.9;
const DECAY_OF_SQUARE = 0.999;
const TINY = 1e-8;

export type Rates = Record<keyof FitParameters, number>;

export class Adam {
  private readonly means: FitParameters;
  private readonly squares: FitParameters;
  private steps = 0;

  constructor(
    private readonly parameters: FitParameters,
    private readonly rates: Rates,
    /** Of the query maps, times their rate, each step. */
    private readonly weightDecay: number,
  ) {
    this.means = zerosLike(parameters);
    this.squares = zerosLike(parameters);
  }

  /** Changes the values in place; `share` of the rates counts. */
  step(gradients: FitParameters, share: number): void {
    this.steps++;
    const ofMean = 1 - DECAY_OF_MEAN ** this.steps;
    const ofSquare = 1 - DECAY_OF_SQUARE ** this.steps;
    for (const name of PARAMETERS) {
      const rate = this.rates[name] * share;
      const decay = name === 'queryMap' ? rate * this.weightDecay : 0;
      const [values, means, squares] = [this.parameters[name], this.means[name], this.squares[name]];
      gradients[name].forEach((gradient, i) => {
        means[i] = DECAY_OF_MEAN * means[i]! + (1 - DECAY_OF_MEAN) * gradient;
        squares[i] = DECAY_OF_SQUARE * squares[i]! + (1 - DECAY_OF_SQUARE) * gradient ** 2;
        const step = means[i] / ofMean / (Math.sqrt(squares[i] / ofSquare) + TINY);
        values[i] = values[i]! - rate * step - decay * values[i]!;
      });
    }
  }
}
