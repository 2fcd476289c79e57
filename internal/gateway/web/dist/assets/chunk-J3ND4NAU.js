var e="system:gateway",n="meup.v0.1",r={Normal:1e3,GoingAway:1001,Policy:1008,TooBig:1009,Internal:1011,TokenExpired:4001,Kicked:4003,Idle:4008};export{e as a,n as b,r as c};
