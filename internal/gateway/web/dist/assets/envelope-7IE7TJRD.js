import{a}from"/assets/chunk-6ZNCV7PM.js";import"/assets/chunk-FOM3HLSD.js";import"/assets/chunk-FJKFMZIY.js";import"/assets/chunk-DCI4EF6C.js";import"/assets/chunk-FL6C67XG.js";export{a as EnvelopePanel};
//# sourceMappingURL=/assets/envelope-7IE7TJRD.js.map
