/** Threads of a block, and values that the kernel `compute` returns. */
export const compute = { threads: 256, rounds: 100 } as const;

/** The patterns of the memory test: every bit is written as 0 and as 1. */
export const seeds = [0x5555_5555, 0xaaaa_aaaa] as const;

/** The multiplier of the pattern, and of the generator in `compute`. */
const spread = 0x9e37_79b1;
const generator = { multiply: 1_664_525, add: 1_013_904_223 } as const;

/**
 * The kernels. PTX 5.0 (CUDA 8, driver 375) for Maxwell and newer: each driver compiles it for its GPU. `compute` mixes integers and
 * fused multiply-adds; `fill` writes the pattern, `check` counts words that differ, and keeps the lowest place with its value.
 */
export const ptx = `.version 5.0
.target sm_50
.address_size 64

.visible .entry compute(.param .u64 compute_out)
{
  .reg .pred %p<2>;
  .reg .b32 %r<8>;
  .reg .f32 %f<4>;
  .reg .b64 %rd<5>;
  ld.param.u64 %rd1, [compute_out];
  cvta.to.global.u64 %rd2, %rd1;
  mov.u32 %r1, %tid.x;
  mov.u32 %r2, %r1;
  mov.u32 %r3, 0;
  cvt.rn.f32.u32 %f1, %r1;
  mov.f32 %f2, 0f00000000;
$COMPUTE_LOOP:
  mad.lo.s32 %r2, %r2, ${generator.multiply}, ${generator.add};
  fma.rn.f32 %f2, %f2, 0f3F000000, %f1;
  add.s32 %r3, %r3, 1;
  setp.lt.u32 %p1, %r3, ${compute.rounds};
  @%p1 bra $COMPUTE_LOOP;
  mov.b32 %r4, %f2;
  xor.b32 %r5, %r2, %r4;
  mul.wide.u32 %rd3, %r1, 4;
  add.s64 %rd4, %rd2, %rd3;
  st.global.u32 [%rd4], %r5;
  ret;
}

.visible .entry fill(.param .u64 fill_at, .param .u64 fill_bytes, .param .u32 fill_seed)
{
  .reg .pred %p<2>;
  .reg .b32 %r<11>;
  .reg .b64 %rd<7>;
  ld.param.u64 %rd1, [fill_at];
  ld.param.u64 %rd2, [fill_bytes];
  ld.param.u32 %r1, [fill_seed];
  cvta.to.global.u64 %rd3, %rd1;
  shr.u64 %rd4, %rd2, 2;
  cvt.u32.u64 %r2, %rd4;
  mov.u32 %r3, %ctaid.x;
  mov.u32 %r4, %ntid.x;
  mov.u32 %r5, %tid.x;
  mad.lo.s32 %r6, %r3, %r4, %r5;
  mov.u32 %r7, %nctaid.x;
  mul.lo.s32 %r8, %r7, %r4;
$FILL_LOOP:
  setp.ge.u32 %p1, %r6, %r2;
  @%p1 bra $FILL_END;
  mul.lo.s32 %r9, %r6, ${spread | 0};
  xor.b32 %r10, %r9, %r1;
  mul.wide.u32 %rd5, %r6, 4;
  add.s64 %rd6, %rd3, %rd5;
  st.global.u32 [%rd6], %r10;
  add.s32 %r6, %r6, %r8;
  bra $FILL_LOOP;
$FILL_END:
  ret;
}

.visible .entry check(.param .u64 check_at, .param .u64 check_bytes, .param .u32 check_seed, .param .u64 check_out)
{
  .reg .pred %p<3>;
  .reg .b32 %r<13>;
  .reg .b64 %rd<14>;
  ld.param.u64 %rd1, [check_at];
  ld.param.u64 %rd2, [check_bytes];
  ld.param.u32 %r1, [check_seed];
  ld.param.u64 %rd7, [check_out];
  cvta.to.global.u64 %rd3, %rd1;
  cvta.to.global.u64 %rd8, %rd7;
  shr.u64 %rd4, %rd2, 2;
  cvt.u32.u64 %r2, %rd4;
  mov.u32 %r3, %ctaid.x;
  mov.u32 %r4, %ntid.x;
  mov.u32 %r5, %tid.x;
  mad.lo.s32 %r6, %r3, %r4, %r5;
  mov.u32 %r7, %nctaid.x;
  mul.lo.s32 %r8, %r7, %r4;
$CHECK_LOOP:
  setp.ge.u32 %p1, %r6, %r2;
  @%p1 bra $CHECK_END;
  mul.lo.s32 %r9, %r6, ${spread | 0};
  xor.b32 %r10, %r9, %r1;
  mul.wide.u32 %rd5, %r6, 4;
  add.s64 %rd6, %rd3, %rd5;
  ld.global.u32 %r11, [%rd6];
  setp.eq.u32 %p2, %r11, %r10;
  @%p2 bra $CHECK_NEXT;
  mov.u64 %rd9, 1;
  atom.global.add.u64 %rd10, [%rd8], %rd9;
  cvt.u64.u32 %rd11, %r6;
  shl.b64 %rd11, %rd11, 32;
  cvt.u64.u32 %rd12, %r11;
  or.b64 %rd11, %rd11, %rd12;
  atom.global.min.u64 %rd13, [%rd8+8], %rd11;
$CHECK_NEXT:
  add.s32 %r6, %r6, %r8;
  bra $CHECK_LOOP;
$CHECK_END:
  ret;
}
`;

/** Returns what the kernel `compute` must write. */
export function computed(): Uint32Array {
  return Uint32Array.from({ length: compute.threads }, (_, thread) => {
    let integer = thread;
    let float = 0;
    for (let round = 0; round < compute.rounds; round += 1) {
      integer = (Math.imul(integer, generator.multiply) + generator.add) >>> 0;
      float = Math.fround(float * 0.5 + thread);
    }
    const bits = new DataView(new ArrayBuffer(4));
    bits.setFloat32(0, float);
    return (integer ^ bits.getUint32(0)) >>> 0;
  });
}

/** Returns the word that `fill` writes at this place. */
export function pattern(index: number, seed: number): number {
  return (Math.imul(index, spread) ^ seed) >>> 0;
}
