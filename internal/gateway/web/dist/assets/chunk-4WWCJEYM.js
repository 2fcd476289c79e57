function n(e){return e.asked===""?e.opener:e.asked}export{n as a};
//# sourceMappingURL=/assets/chunk-4WWCJEYM.js.map
