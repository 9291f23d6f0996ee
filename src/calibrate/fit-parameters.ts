/**
 * The values that are fitted, of H heads with size d, and their file (recall.md; models/README.md). Pure.
 */

export interface FitParameters {
  /** A, float64 [H,d,d]: a row q becomes q + q A. */
  readonly queryMap: Float64Array;
  /** [H,d]: rows count by softmax(q · direction). */
  readonly rowDirection: Float64Array;
  /** [H] each: t, w, u, a, e. */
  readonly logTemperature: Float64Array;
  readonly weight: Float64Array;
  readonly nullWeight: Float64Array;
  readonly lengthExponent: Float64Array;
  readonly logFloor: Float64Array;
}

export const PARAMETERS = [
  'queryMap',
  'rowDirection',
  'logTemperature',
  'weight',
  'nullWeight',
  'lengthExponent',
  'logFloor',
] as const satisfies readonly (keyof FitParameters)[];

/** Nothing learned: the plain query, all rows the same, and five numbers near those of every fit so far. */
export function unfitted(heads: number, headSize: number): FitParameters {
  const filled = (value: number) => new Float64Array(heads).fill(value);
  return {
    queryMap: new Float64Array(heads * headSize * headSize),
    rowDirection: new Float64Array(heads * headSize),
    logTemperature: filled(0),
    weight: filled(0.5),
    nullWeight: filled(0.2),
    lengthExponent: filled(0.6),
    logFloor: filled(-9),
  };
}

export function zerosLike(parameters: FitParameters): FitParameters {
  return mapped(parameters, values => new Float64Array(values.length));
}

export function copyOf(parameters: FitParameters): FitParameters {
  return mapped(parameters, values => values.slice());
}

function mapped(parameters: FitParameters, change: (values: Float64Array) => Float64Array): FitParameters {
  return Object.fromEntries(PARAMETERS.map(name => [name, change(parameters[name])])) as unknown as FitParameters;
}

/** Names in `recall.safetensors`. */
const TENSORS: Record<keyof FitParameters, string> = {
  queryMap: 'query_map',
  rowDirection: 'row_direction',
  logTemperature: 'log_temperature',
  weight: 'weight',
  nullWeight: 'null_weight',
  lengthExponent: 'length_exponent',
  logFloor: 'log_floor',
};

/** The values of a model's file; what it lacks is zero. */
export function parametersFrom(
  tensors: ReadonlyMap<string, Float32Array>,
  heads: number,
  headSize: number,
): FitParameters {
  const empty = zerosLike(unfitted(heads, headSize));
  for (const name of PARAMETERS) empty[name].set(tensors.get(TENSORS[name]) ?? []);
  return empty;
}

/** `recall.safetensors`: uint64 length of a JSON header, the header, float32 values. */
export function encodeParameters(parameters: FitParameters, headSize: number): Uint8Array {
  const heads = parameters.weight.length;
  const shapes: Partial<Record<keyof FitParameters, number[]>> = {
    queryMap: [heads, headSize, headSize],
    rowDirection: [heads, headSize],
  };
  let bytes = 0;
  const entries = PARAMETERS.map(name => {
    const start = bytes;
    bytes += 4 * parameters[name].length;
    return [TENSORS[name], { dtype: 'F32', shape: shapes[name] ?? [heads], data_offsets: [start, bytes] }];
  });
  const text = JSON.stringify(Object.fromEntries(entries));
  // Values begin at a multiple of 8, as safetensors wants.
  const header = Buffer.from(text.padEnd(Math.ceil(text.length / 8) * 8));
  const file = Buffer.alloc(8 + header.length + bytes);
  file.writeBigUInt64LE(BigInt(header.length));
  header.copy(file, 8);
  let at = 8 + header.length;
  for (const name of PARAMETERS) for (const value of parameters[name]) at = file.writeFloatLE(value, at);
  return file;
}
