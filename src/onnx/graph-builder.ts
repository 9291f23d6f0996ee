/**
 * Writes an ONNX graph node by node as a protobuf message. Knows the format only: which operators make a KVM model
 * is said in forward-graph.ts and fold-graph.ts. Large weights lie in an external file; only their place is written here.
 */
import proto from 'onnx-proto';
import type { onnx } from 'onnx-proto';

const { FLOAT, FLOAT16, INT64, INT8, UINT8 } = proto.onnx.TensorProto.DataType;
const ATTRIBUTE = proto.onnx.AttributeProto.AttributeType;

/** Standard operators of this opset (ScatterElements with reduction, LayerNormalization), contrib ones of version 1. */
const OPSET = 18;
const IR_VERSION = 8;
const CONTRIB = 'com.microsoft';

export type ElementType = 'float32' | 'float16' | 'int64' | 'int8' | 'uint8';
/** A name is a dimension that varies. */
export type Dimension = number | string;
export type Attribute =
  number | string | { readonly float: number } | { readonly graph: GraphBuilder } | readonly number[];

const ELEMENT: Record<ElementType, number> = {
  float32: FLOAT,
  float16: FLOAT16,
  int64: INT64,
  int8: INT8,
  uint8: UINT8,
};

/** Where a tensor lies in a weights file. */
export interface WeightPlace {
  /** Name of the file beside the graph's. */
  readonly file: string;
  readonly type: ElementType;
  readonly shape: readonly number[];
  readonly offset: number;
  readonly bytes: number;
}

/** Operators that are not in the standard domain. */
const CONTRIB_OPERATORS = new Set([
  'FusedMatMul',
  'MatMulIntegerToFloat',
  'MatMulNBits',
  'RotaryEmbedding',
  'SkipSimplifiedLayerNormalization',
  'QuickGelu',
]);

export class GraphBuilder {
  private readonly nodes: onnx.INodeProto[] = [];
  private readonly initializers: onnx.ITensorProto[] = [];
  private readonly inputs: onnx.IValueInfoProto[] = [];
  private readonly outputs: onnx.IValueInfoProto[] = [];
  private readonly values: onnx.IValueInfoProto[] = [];
  private readonly constants = new Map<string, string>();
  /** Value → the output that it is. */
  private readonly outputNames = new Map<string, string>();
  private counter = 0;

  constructor(
    private readonly name: string,
    /** Before every name made here: a body's names must differ from those of the graph around it. */
    private readonly prefix = '',
  ) {}

  /** The body of an operator that has one (Scan): an attribute of its node. It has no weights of its own. */
  body(name: string): GraphBuilder {
    return new GraphBuilder(name, `${this.prefix}${name}.${this.counter++}/`);
  }

  /** A name of this graph alone, for the inputs and outputs of a body. */
  localName(name: string): string {
    return `${this.prefix}${name}`;
  }

  input(name: string, type: ElementType, shape: readonly Dimension[]): string {
    this.inputs.push(valueInfo(name, type, shape));
    return name;
  }

  /** Names a value as an output of the graph: a node's output is called so from then on, anything else is copied. */
  output(value: string, name: string, type: ElementType, shape: readonly Dimension[]): void {
    const made = this.nodes.some(({ output }) => output!.includes(value));
    if (made && !this.outputNames.has(value)) this.outputNames.set(value, name);
    else this.nodes.push({ opType: 'Identity', name: `${this.prefix}out.${name}`, input: [value], output: [name] });
    this.outputs.push(valueInfo(name, type, shape));
  }

  /**
   * Says the shape of a float32 value that onnxruntime can't infer; gives the value. Where it knows no shapes it looks at all
   * freed values for each new one, which took seconds to load 5,000 nodes.
   */
  sized(value: string, shape: readonly Dimension[]): string {
    this.values.push(valueInfo(value, 'float32', shape));
    return value;
  }

  /** A node with one output; gives its name. */
  node(operator: string, inputs: readonly string[], attributes: Record<string, Attribute> = {}): string {
    return this.manyOutputs(operator, inputs, 1, attributes)[0]!;
  }

  /** A node with several outputs. */
  manyOutputs(
    operator: string,
    inputs: readonly string[],
    outputCount: number,
    attributes: Record<string, Attribute> = {},
  ): string[] {
    const id = `${this.prefix}${operator}.${this.counter++}`;
    const output = Array.from({ length: outputCount }, (_, i) => (i === 0 ? id : `${id}.${i}`));
    this.nodes.push({
      opType: operator,
      domain: CONTRIB_OPERATORS.has(operator) ? CONTRIB : '',
      name: id,
      input: [...inputs],
      output,
      attribute: Object.entries(attributes).map(([name, value]) => attribute(name, value)),
    });
    return output;
  }

  cast(value: string, type: ElementType): string {
    return this.node('Cast', [value], { to: ELEMENT[type] });
  }

  /** A small int64 tensor inside the graph; equal ones are shared. */
  integers(...values: number[]): string {
    const key = `i:${values.join(',')}`;
    return this.shared(key, () => ({
      dataType: INT64,
      dims: [values.length],
      rawData: bytesOf(BigInt64Array.from(values, BigInt)),
    }));
  }

  /** A float32 scalar inside the graph. */
  float(value: number): string {
    return this.shared(`f:${value}`, () => ({ dataType: FLOAT, dims: [], rawData: bytesOf(Float32Array.of(value)) }));
  }

  floats(values: Float32Array, shape: readonly number[]): string {
    const name = `${this.prefix}values.${this.counter++}`;
    this.initializers.push({ name, dataType: FLOAT, dims: [...shape], rawData: bytesOf(values) });
    return name;
  }

  /** A tensor of a weights file. */
  weight(name: string, place: WeightPlace): string {
    if (!this.initializers.some(initializer => initializer.name === name)) {
      this.initializers.push({
        name,
        dataType: ELEMENT[place.type],
        dims: [...place.shape],
        dataLocation: proto.onnx.TensorProto.DataLocation.EXTERNAL,
        externalData: [
          { key: 'location', value: place.file },
          { key: 'offset', value: String(place.offset) },
          { key: 'length', value: String(place.bytes) },
        ],
      });
    }
    return name;
  }

  finish(): Uint8Array {
    return proto.onnx.ModelProto.encode({
      irVersion: IR_VERSION,
      producerName: 'longview',
      opsetImport: [
        { domain: '', version: OPSET },
        { domain: CONTRIB, version: 1 },
      ],
      graph: this.message(),
    }).finish();
  }

  message(): onnx.IGraphProto {
    return {
      name: this.name,
      node: renamed(this.nodes, this.outputNames),
      initializer: this.initializers,
      input: this.inputs,
      output: this.outputs,
      valueInfo: this.values,
    };
  }

  private shared(key: string, make: () => onnx.ITensorProto): string {
    let name = this.constants.get(key);
    if (name === undefined) {
      name = `${this.prefix}constant.${this.constants.size}`;
      this.constants.set(key, name);
      this.initializers.push({ ...make(), name });
    }
    return name;
  }
}

/** With bodies, which may use values of the graph around them. */
function renamed(nodes: readonly onnx.INodeProto[], names: ReadonlyMap<string, string>): onnx.INodeProto[] {
  const rename = (of: readonly string[]): string[] => of.map(name => names.get(name) ?? name);
  return nodes.map(node => ({
    ...node,
    input: rename(node.input!),
    output: rename(node.output!),
    attribute: node.attribute?.map(attribute =>
      attribute.g ? { ...attribute, g: { ...attribute.g, node: renamed(attribute.g.node!, names) } } : attribute,
    ),
  }));
}

function valueInfo(name: string, type: ElementType, shape: readonly Dimension[]): onnx.IValueInfoProto {
  const dim = shape.map(size => (typeof size === 'number' ? { dimValue: size } : { dimParam: size }));
  return { name, type: { tensorType: { elemType: ELEMENT[type], shape: { dim } } } };
}

function attribute(name: string, value: Attribute): onnx.IAttributeProto {
  if (typeof value === 'number') return { name, type: ATTRIBUTE.INT, i: value };
  if (typeof value === 'string') return { name, type: ATTRIBUTE.STRING, s: new TextEncoder().encode(value) };
  if ('float' in value) return { name, type: ATTRIBUTE.FLOAT, f: value.float };
  if ('graph' in value) return { name, type: ATTRIBUTE.GRAPH, g: value.graph.message() };
  return { name, type: ATTRIBUTE.INTS, ints: [...value] };
}

function bytesOf(values: Float32Array | BigInt64Array): Uint8Array {
  return new Uint8Array(values.buffer, values.byteOffset, values.byteLength);
}
