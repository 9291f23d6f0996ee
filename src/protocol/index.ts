/** Door of `protocol`. */
export { event, method } from './messages.js';
export type {
  AskParams,
  AskReply,
  CitedPlace,
  CoverageCounts,
  Failure,
  FolderParams,
  ForgetParams,
  LogEvent,
  ModelReply,
  PingReply,
  Place,
  ProgressEvent,
  ReadReply,
  RecalledEvent,
  RecalledPlace,
  ServerOptions,
  StatusReply,
  TextEvent,
  WorkParams,
} from './messages.js';
