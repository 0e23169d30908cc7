export { ByteWriter, WriteLimitError } from './byte-writer.ts';
export { encode, encodeRequest, writeReply } from './encoder.ts';
export { GrowingBytes } from './growing-bytes.ts';
export { splitInlineArguments } from './inline-arguments.ts';
export { partOf } from './part-of.ts';
export { ProtocolError } from './protocol-error.ts';
export * from './reply.ts';
export { ReplyDecoder } from './reply-decoder.ts';
export { DEFAULT_REQUEST_LIMITS, RequestDecoder, type RequestLimits } from './request-decoder.ts';
